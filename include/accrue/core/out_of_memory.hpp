// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_OUT_OF_MEMORY_HPP
#define ACCRUE_CORE_OUT_OF_MEMORY_HPP

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace accrue {

namespace detail {
template <class Exception>
[[nodiscard]] bool handling_a() {
  try {
    throw;
  } catch (Exception const&) {
    return true;
  } catch (...) {
    return false;
  }
}
}  // namespace detail

/// Whether the exception that is being handled says that memory was not to be had: `std::bad_alloc`, what Kokkos throws
/// where a view cannot be allocated, or one of the `Others`.
///
/// Order: inside of a catch clause. Kokkos 4.6 to 5.2 throw a `std::runtime_error`, which is known by its text.
template <class... Others>
[[nodiscard]] bool is_out_of_memory() {
  if ((detail::handling_a<Others>() || ...)) return true;
  try {
    throw;
  } catch (std::bad_alloc const&) {
    return true;
  } catch (std::runtime_error const& failure) {
    std::string_view const text = failure.what();
    return text.find("Kokkos") != text.npos && text.find("memory space failed to allocate") != text.npos;
  } catch (...) {
    return false;
  }
}

/// The text of the exception that is being handled.
[[nodiscard]] inline std::string text_of_exception() {
  try {
    throw;
  } catch (std::exception const& failure) {
    return failure.what();
  } catch (...) {
    return "an exception without a text";
  }
}

}  // namespace accrue
#endif

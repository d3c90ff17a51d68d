// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_DEVICE_PATH_FENCE_COUNT_HPP
#define ACCRUE_TESTS_DEVICE_PATH_FENCE_COUNT_HPP

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string_view>

/// Counts the fences of accrue, of which a group has none.
class fence_count {
 public:
  fence_count() {
    own() = 0;
    Kokkos::Tools::Experimental::set_begin_fence_callback([](char const* name, std::uint32_t, std::uint64_t*) {
      own() += std::string_view(name).find("accrue") != std::string_view::npos ? 1 : 0;
    });
  }
  ~fence_count() { Kokkos::Tools::Experimental::set_begin_fence_callback(nullptr); }
  fence_count(fence_count const&) = delete;
  fence_count& operator=(fence_count const&) = delete;
  [[nodiscard]] static int value() { return own(); }

 private:
  static int& own() {
    static int count = 0;
    return count;
  }
};

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_USER_FUNCTION_HPP
#define ACCRUE_CORE_USER_FUNCTION_HPP

#include <Kokkos_Core.hpp>
#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace accrue {

namespace detail {

/// Whether two functions of this type can be told apart, or need not be.
template <class Function>
concept comparable_function = std::is_empty_v<Function> || std::equality_comparable<Function>;
template <comparable_function Function>
[[nodiscard]] constexpr bool same_function([[maybe_unused]] Function const& a, [[maybe_unused]] Function const& b) {
  if constexpr (std::is_empty_v<Function>)
    return true;
  else
    return a == b;
}

template <class Function>
void take_over(Function& old, Function& from) noexcept {
  if (&old == &from) return;
  std::destroy_at(&old);
  std::construct_at(&old, std::move(from));
}

/// Assigns a function object; closures have no assignment, so the old one makes way for a copy of the new.
template <class Function>
void replace(Function& old, Function const& with) {
  Function copy(with);  // may throw, and then nothing has changed
  take_over(old, copy);
}

}  // namespace detail

/// A function object of the user as a policy keeps it: closures too can be assigned, and are equal where they say so or
/// hold nothing.
template <class Function>
class user_function {
 public:
  explicit user_function(Function f) : function_(std::move(f)) {}

  user_function(user_function const&) = default;
  user_function& operator=(user_function const& other) {
    detail::replace(function_, other.function_);
    return *this;
  }
  user_function(user_function&&) noexcept(std::is_nothrow_move_constructible_v<Function>) = default;
  user_function& operator=(user_function&& other) noexcept {
    detail::take_over(function_, other.function_);
    return *this;
  }

  [[nodiscard]] KOKKOS_FUNCTION Function const& get() const { return function_; }

  friend bool operator==(user_function const& a,
                         user_function const& b) requires detail::comparable_function<Function> {
    return detail::same_function(a.function_, b.function_);
  }

 private:
  Function function_;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_PLANNED_HPP
#define ACCRUE_PLAN_PLANNED_HPP

#include <accrue/plan/refusal.hpp>

#include <optional>
#include <type_traits>

namespace accrue::plan {

/// What a plan answers: a value, or the reason why there is none.
///
/// Guarantee: compares with a value, with a reason and with another answer. Only `value()` throws.
/// Cost: none beyond its members; nothing is allocated.
/// Extending: a `Reason` of your own needs `accrue::error as_error(Reason)` in its namespace.
template <class T, class Reason = refusal>
class planned {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_copyable_v<Reason>,
                "accrue::plan::planned: an answer is copied freely: take trivially copyable types");

 public:
  constexpr planned(T value) noexcept : value_(value), has_value_(true) {}
  constexpr planned(Reason reason) noexcept : reason_(reason), has_value_(false) {}

  /// True when there is a value.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return has_value_; }

  /// The value, for those who cannot go on without it.
  ///
  /// Failure: throws the reason as an `accrue::error`; in a constant expression that is a compile error.
  [[nodiscard]] constexpr T value() const {
    if (!has_value_) throw as_error(reason_);
    return value_;
  }

  /// The reason, or nothing when there is a value.
  [[nodiscard]] constexpr std::optional<Reason> reason() const noexcept {
    return has_value_ ? std::nullopt : std::optional<Reason>(reason_);
  }

  friend constexpr bool operator==(planned const& a, planned const& b) noexcept {
    return a.has_value_ == b.has_value_ && (a.has_value_ ? a.value_ == b.value_ : a.reason_ == b.reason_);
  }

 private:
  union {  // takes a compiler a fifth of the time of a std::optional, of which a plan has many
    T value_;
    Reason reason_;
  };
  bool has_value_;
};

}  // namespace accrue::plan
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_PLANNED_HPP
#define ACCRUE_PLAN_PLANNED_HPP

#include <accrue/plan/refusal.hpp>

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

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
  constexpr planned(T value) noexcept : answer_(std::in_place_index<0>, value) {}
  constexpr planned(Reason reason) noexcept : answer_(std::in_place_index<1>, reason) {}

  /// True when there is a value.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return answer_.index() == 0; }

  /// The value, for those who cannot go on without it.
  ///
  /// Failure: throws the reason as an `accrue::error`; in a constant expression that is a compile error.
  [[nodiscard]] constexpr T value() const {
    if (!*this) throw as_error(std::get<1>(answer_));
    return std::get<0>(answer_);
  }

  /// The reason, or nothing when there is a value.
  [[nodiscard]] constexpr std::optional<Reason> reason() const noexcept {
    if (*this) return std::nullopt;
    return std::get<1>(answer_);
  }

  friend constexpr bool operator==(planned const&, planned const&) = default;

 private:
  std::variant<T, Reason> answer_;
};

}  // namespace accrue::plan
#endif

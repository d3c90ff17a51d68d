// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_OUTCOME_HPP
#define ACCRUE_CORE_OUTCOME_HPP

#include <cstdint>
#include <ostream>
#include <string_view>

namespace accrue {

/// What became of a group. Attempted updates are those applied, skipped as non-finite, or vetoed.
enum class outcome : std::int32_t {
  applied,             ///< the parameters changed
  skipped_non_finite,  ///< NaN or Inf in the gradient or its norm: nothing changed, optimizer state included
  empty,               ///< no weight, or no parameter touched: nothing changed, not attempted
  dropped_last,        ///< the last group was not full and the policy is `drop_last`
  carried,             ///< the last group stays open for the next pass over the data
  vetoed,              ///< a predicate of the user said no
  discarded,           ///< the user threw the open group away
};

[[nodiscard]] constexpr std::string_view name_of(outcome o) noexcept {
  switch (o) {
    case outcome::applied:
      return "applied";
    case outcome::skipped_non_finite:
      return "skipped_non_finite";
    case outcome::empty:
      return "empty";
    case outcome::dropped_last:
      return "dropped_last";
    case outcome::carried:
      return "carried";
    case outcome::vetoed:
      return "vetoed";
    case outcome::discarded:
      return "discarded";
  }
  return "unknown";
}

[[nodiscard]] constexpr bool attempted(outcome o) noexcept {
  return o == outcome::applied || o == outcome::skipped_non_finite || o == outcome::vetoed;
}

inline std::ostream& operator<<(std::ostream& out, outcome o) { return out << name_of(o); }

}  // namespace accrue
#endif

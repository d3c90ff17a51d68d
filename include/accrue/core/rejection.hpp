// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_REJECTION_HPP
#define ACCRUE_CORE_REJECTION_HPP

#include <cstdint>
#include <ostream>
#include <string_view>

namespace accrue {

/// Why a microbatch was left out.
enum class rejection_cause : std::int32_t {
  not_a_number,    ///< a NaN in its gradient
  infinite,        ///< an Inf in its gradient, or a norm beyond double
  norm_too_large,  ///< above the bound of the policy
};

[[nodiscard]] constexpr std::string_view name_of(rejection_cause cause) noexcept {
  switch (cause) {
    case rejection_cause::not_a_number:
      return "not_a_number";
    case rejection_cause::infinite:
      return "infinite";
    case rejection_cause::norm_too_large:
      return "norm_too_large";
  }
  return "unknown";
}
inline std::ostream& operator<<(std::ostream& out, rejection_cause cause) { return out << name_of(cause); }

/// A microbatch that was left out, as the device notes it.
struct device_rejection {
  std::int64_t number;      ///< of the rejection, from 1; tells whether the ring has moved on
  std::int64_t microbatch;  ///< its number among all of the run, from 1
  std::int64_t group;       ///< that it would have been part of, from 1
  rejection_cause cause;
  double norm;  ///< of its own gradient
};

}  // namespace accrue
#endif

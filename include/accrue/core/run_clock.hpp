// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_RUN_CLOCK_HPP
#define ACCRUE_CORE_RUN_CLOCK_HPP

#include <accrue/core/decision.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace accrue {

/// What the length of a run may be told by.
enum class clock_unit : std::int32_t { applied_updates, attempted_updates, handed_samples, handed_tokens };

/// How far a run is when a group closes, without that group; what the host knows as numbers, the rest where the device
/// keeps it.
struct run_clock {
  device_totals const* totals = nullptr;  ///< on the device
  std::int64_t attempted = 0;             ///< updates, with those that rejections emptied
  std::int64_t samples = 0;               ///< of all replicas
  std::int64_t tokens = 0;

  [[nodiscard]] KOKKOS_FUNCTION std::int64_t read(clock_unit unit) const {
    switch (unit) {
      case clock_unit::applied_updates:
        return totals->applied;
      case clock_unit::attempted_updates:
        return attempted - totals->emptied;
      case clock_unit::handed_samples:
        return samples;
      case clock_unit::handed_tokens:
        break;
    }
    return tokens;
  }
};

}  // namespace accrue
#endif

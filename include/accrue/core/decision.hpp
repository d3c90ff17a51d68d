// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_DECISION_HPP
#define ACCRUE_CORE_DECISION_HPP

#include <accrue/core/outcome.hpp>

#include <cstdint>

namespace accrue {

/// What the finalize stage settles once per group, on the device; the update pass obeys it.
struct decision {
  double divisor;      ///< what the raw sum is divided by
  double norm;         ///< of the gradient before clipping
  double clip_factor;  ///< what the clip policy says; 1 for no change
  std::int32_t apply;  ///< 0: every chunk of the update pass returns at once
};

/// The device's half of a group's record; the host knows the counts.
struct device_record {
  std::int64_t number;  ///< of the group, from 1; tells whether the ring has moved on
  outcome result;
  double norm;  ///< of the finalized gradient before clipping
  double clip_factor;
  double loss;
};

/// Totals that only the device knows until the host asks.
struct device_totals {
  std::int64_t applied;
  std::int64_t skipped;
  std::int64_t consecutive_skips;

  /// For a restart, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(applied, skipped, consecutive_skips);
  }
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_DECISION_HPP
#define ACCRUE_CORE_DECISION_HPP

#include <accrue/core/gate_state.hpp>
#include <accrue/core/outcome.hpp>

#include <cstdint>

namespace accrue {

/// What the finalize stage settles once per group, on the device; the update pass obeys it.
struct decision {
  double divisor;      ///< what the raw sum is divided by
  double norm;         ///< of the gradient before clipping
  double clip_factor;  ///< what the clip policy says; 1 for no change
  std::int32_t apply;  ///< 0: every chunk of the update pass returns at once
  outcome result;      ///< applied exactly where `apply` is not 0
};

/// What one of several accumulators that close together contributes to the common decision.
struct group_verdict {
  outcome result;
  std::int32_t overflows;  ///< for a loss scale

  /// For an exchange, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(result, overflows);
  }
};

/// The device's half of a group's record; the host knows what was handed over.
struct device_record {
  std::int64_t number;  ///< of the group, from 1; tells whether the ring has moved on
  outcome result;
  double norm;  ///< of the finalized gradient before clipping
  double clip_factor;
  double loss;
  double loss_scale;
  std::int32_t overflowed;  ///< for a loss scale
  double weight;            ///< of what the gate let through; negative where there is none, and the host knows
  device_counts rejected;   ///< what it left out
  double own_square;        ///< mean of |g_i|^2 over the microbatches, where a gate measured them
  double own_weight;        ///< harmonic mean of their c_i; 0 where none did
};

/// Totals that only the device knows until the host asks.
struct device_totals {
  std::int64_t applied = 0;
  std::int64_t skipped = 0;
  std::int64_t consecutive_skips = 0;
  std::int64_t vetoed = 0;
  std::int64_t emptied = 0;  ///< groups that rejections left empty
  device_counts rejected{};  ///< in all groups, dropped ones and the open one included
  std::int64_t rejections = 0;

  /// For a restart, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(applied, skipped, consecutive_skips, vetoed, emptied, rejected, rejections);
  }
};

}  // namespace accrue
#endif

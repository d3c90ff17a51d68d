// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_REPLICA_SCALING_HPP
#define ACCRUE_PLAN_REPLICA_SCALING_HPP

#include <accrue/plan/planned.hpp>
#include <accrue/plan/refusal.hpp>
#include <accrue/plan/units.hpp>

#include <cstdint>
#include <limits>

namespace accrue::plan {

/// What was measured, or is expected, of one update.
struct update_costs {
  double compute_seconds = 0.0;      ///< of a replica's group and its update, without communication
  double buffer_bytes = 0.0;         ///< of the sum, 4 for each parameter in float
  double bytes_per_second = 0.0;     ///< that a replica sends
  double seconds_per_message = 0.0;  ///< latency
};

/// What sharing a batch comes to.
struct update_time {
  double communication_seconds;
  double seconds;
  double efficiency;  ///< compute over all of it: 1 if replicas cost nothing

  friend constexpr bool operator==(update_time const&, update_time const&) = default;
};

/// The time of an update over replicas that sum their buffers in a ring: 2 (D - 1) messages of a D-th of the buffer
/// each, nothing overlapped.
///
/// Failure: `no_replicas` for 0, `no_number` for a time or rate that is negative, infinite or NaN, or a rate of 0 where
/// something is sent. Source: Patarasuk and Yuan 2009.
[[nodiscard]] constexpr planned<update_time> time_over_replicas(update_costs const& costs, replicas across) noexcept {
  constexpr double most = std::numeric_limits<double>::max();
  auto const fine = [](double x) { return x >= 0.0 && x <= most; };
  if (across == replicas{}) return refusal::no_replicas;
  if (!fine(costs.compute_seconds) || !fine(costs.buffer_bytes) || !fine(costs.bytes_per_second) ||
      !fine(costs.seconds_per_message))
    return refusal::no_number;
  auto const d = static_cast<double>(across.value());
  double sending = 0.0;
  if (across.value() > 1) {
    if (costs.bytes_per_second == 0.0) return refusal::no_number;
    sending = 2.0 * (d - 1.0) * (costs.buffer_bytes / d / costs.bytes_per_second + costs.seconds_per_message);
  }
  double const all = costs.compute_seconds + sending;
  return update_time{sending, all, all > 0.0 ? costs.compute_seconds / all : 1.0};
}

}  // namespace accrue::plan
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_REPLICAS_FOR_HPP
#define ACCRUE_PLAN_REPLICAS_FOR_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/missed_target.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/units.hpp>

namespace accrue::plan {

/// The data-parallel replicas over which a group meets the target, exactly.
///
/// Guarantee: `effective_batch(microbatch, group, answer)` is the target; never 0, never rounded.
/// Failure: refuses a target that is no multiple of microbatch x group, with both neighbours; `no_target`, an
/// `empty_microbatch`, an `empty_group`, and a microbatch x group that is `too_large`.
[[nodiscard]] constexpr planned<replicas, missed_target<replicas>> replicas_for(samples target, samples microbatch,
                                                                                microbatches group) noexcept {
  using missed = missed_target<replicas>;
  if (target == samples{}) return missed{refusal::no_target, target};
  if (microbatch == samples{}) return missed{refusal::empty_microbatch, target};
  if (group == microbatches{}) return missed{refusal::empty_group, target};
  return detail::solved<replicas>(target, microbatch.value(), group.value());
}

}  // namespace accrue::plan
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_MICROBATCH_SIZE_FOR_HPP
#define ACCRUE_PLAN_MICROBATCH_SIZE_FOR_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/missed_target.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/units.hpp>

namespace accrue::plan {

/// The samples of a microbatch with which a group of so many meets the target, exactly.
///
/// Guarantee: `effective_batch(answer, group, across)` is the target; never 0, never rounded.
/// Failure: refuses a target that is no multiple of group x replicas, with both neighbours; `no_target`, an
/// `empty_group`, `no_replicas`, and a group x replicas that is `too_large`.
[[nodiscard]] constexpr planned<samples, missed_target<samples>> microbatch_size_for(samples target, microbatches group,
                                                                                     replicas across = replicas{
                                                                                         1}) noexcept {
  using missed = missed_target<samples>;
  if (target == samples{}) return missed{refusal::no_target, target};
  if (group == microbatches{}) return missed{refusal::empty_group, target};
  if (across == replicas{}) return missed{refusal::no_replicas, target};
  return detail::solved<samples>(target, group.value(), across.value());
}

}  // namespace accrue::plan
#endif

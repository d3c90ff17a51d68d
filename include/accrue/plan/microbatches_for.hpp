// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_MICROBATCHES_FOR_HPP
#define ACCRUE_PLAN_MICROBATCHES_FOR_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/missed_target.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/units.hpp>

namespace accrue::plan {

/// The microbatches of a group whose effective batch is the target, exactly.
///
/// Guarantee: `effective_batch(microbatch, answer, across)` is the target; never 0, never rounded.
/// Failure: refuses a target that is no multiple of microbatch x replicas, with both neighbours; `no_target`,
/// an `empty_microbatch`, `no_replicas`, and a microbatch x replicas that is `too_large`.
[[nodiscard]] constexpr planned<microbatches, missed_target<microbatches>> microbatches_for(
    samples target, samples microbatch, replicas across = replicas{1}) noexcept {
  using missed = missed_target<microbatches>;
  if (target == samples{}) return missed{refusal::no_target, target};
  if (microbatch == samples{}) return missed{refusal::empty_microbatch, target};
  if (across == replicas{}) return missed{refusal::no_replicas, target};
  return detail::solved<microbatches>(target, microbatch.value(), across.value());
}

}  // namespace accrue::plan
#endif

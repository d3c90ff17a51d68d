// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_MICROBATCHES_FOR_HPP
#define ACCRUE_PLAN_MICROBATCHES_FOR_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/batch_target.hpp>
#include <accrue/plan/missed_target.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/units.hpp>

namespace accrue::plan {

/// The microbatches of a group whose effective batch has the target, exactly.
///
/// Guarantee: `effective_batch(microbatch, answer, across)` has the target; never 0, never rounded.
/// Failure: refuses a target that is no multiple of what microbatch x replicas have of it, with both neighbours; what
/// is `wrong()` with the target, an `empty_microbatch`, `no_replicas`, and products that are `too_large`.
template <class Unit>
[[nodiscard]] constexpr planned<microbatches, missed_target<microbatches, Unit>> microbatches_for(
    batch_target<Unit> const& target, samples microbatch, replicas across = replicas{1}) noexcept {
  using missed = missed_target<microbatches, Unit>;
  if (auto const wrong = target.wrong()) return missed{*wrong, target.target()};
  if (microbatch == samples{}) return missed{refusal::empty_microbatch, target.target()};
  if (across == replicas{}) return missed{refusal::no_replicas, target.target()};
  return detail::solved<microbatches>(target, microbatch.value(), across.value());
}

/// For a target in samples.
[[nodiscard]] constexpr planned<microbatches, missed_target<microbatches>> microbatches_for(
    samples target, samples microbatch, replicas across = replicas{1}) noexcept {
  return microbatches_for(batch_target(target), microbatch, across);
}

}  // namespace accrue::plan
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_REPLICAS_FOR_HPP
#define ACCRUE_PLAN_REPLICAS_FOR_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/batch_target.hpp>
#include <accrue/plan/missed_target.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/units.hpp>

namespace accrue::plan {

/// The data-parallel replicas over which a group meets the target, exactly.
///
/// Guarantee: `effective_batch(microbatch, group, answer)` has the target; never 0, never rounded.
/// Failure: refuses a target that is no multiple of what microbatch x group have of it, with both neighbours; what is
/// `wrong()` with the target, an `empty_microbatch`, an `empty_group`, and products that are `too_large`.
template <class Unit>
[[nodiscard]] constexpr planned<replicas, missed_target<replicas, Unit>> replicas_for(batch_target<Unit> const& target,
                                                                                      samples microbatch,
                                                                                      microbatches group) noexcept {
  using missed = missed_target<replicas, Unit>;
  if (auto const wrong = target.wrong()) return missed{*wrong, target.target()};
  if (microbatch == samples{}) return missed{refusal::empty_microbatch, target.target()};
  if (group == microbatches{}) return missed{refusal::empty_group, target.target()};
  return detail::solved<replicas>(target, microbatch.value(), group.value());
}

/// For a target in samples.
[[nodiscard]] constexpr planned<replicas, missed_target<replicas>> replicas_for(samples target, samples microbatch,
                                                                                microbatches group) noexcept {
  return replicas_for(batch_target(target), microbatch, group);
}

}  // namespace accrue::plan
#endif

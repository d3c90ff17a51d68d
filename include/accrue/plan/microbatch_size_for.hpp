// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_MICROBATCH_SIZE_FOR_HPP
#define ACCRUE_PLAN_MICROBATCH_SIZE_FOR_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/batch_target.hpp>
#include <accrue/plan/missed_target.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/units.hpp>

namespace accrue::plan {

/// The samples of a microbatch with which a group of so many meets the target, exactly.
///
/// Guarantee: `effective_batch(answer, group, across)` has the target; never 0, never rounded.
/// Failure: refuses a target that is no multiple of what group x replicas have of it, with both neighbours; what is
/// `wrong()` with the target, an `empty_group`, `no_replicas`, and products that are `too_large`.
template <class Unit>
[[nodiscard]] constexpr planned<samples, missed_target<samples, Unit>> microbatch_size_for(
    batch_target<Unit> const& target, microbatches group, replicas across = replicas{1}) noexcept {
  using missed = missed_target<samples, Unit>;
  if (auto const wrong = target.wrong()) return missed{*wrong, target.target()};
  if (group == microbatches{}) return missed{refusal::empty_group, target.target()};
  if (across == replicas{}) return missed{refusal::no_replicas, target.target()};
  return detail::solved<samples>(target, group.value(), across.value());
}

/// For a target in samples.
[[nodiscard]] constexpr planned<samples, missed_target<samples>> microbatch_size_for(samples target, microbatches group,
                                                                                     replicas across = replicas{
                                                                                         1}) noexcept {
  return microbatch_size_for(batch_target(target), group, across);
}

}  // namespace accrue::plan
#endif

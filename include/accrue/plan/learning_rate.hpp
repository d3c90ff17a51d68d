// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_LEARNING_RATE_HPP
#define ACCRUE_PLAN_LEARNING_RATE_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/refusal.hpp>

namespace accrue::plan {

/// How a learning rate goes with the batch.
enum class rate_rule {
  linear,       ///< with the batch, after a warm-up: SGD; Goyal et al. 2017
  square_root,  ///< with its square root: Adam and the like; Krizhevsky 2014, Malladi et al. 2022
};

namespace detail {
/// Newton's iteration from above, until it does not fall: the square root to the last bits, in constant expressions.
[[nodiscard]] constexpr double square_root(double x) noexcept {
  double root = x > 1.0 ? x : 1.0;
  while (true) {
    double const next = 0.5 * (root + x / root);
    if (!(next < root)) break;
    root = next;
  }
  return root;
}
}  // namespace detail

/// What to multiply a learning rate by that was right for the batch `from`, where the batch is `to`. Advice, not a law:
/// it holds as long as the batch is below the one where gradients are hardly noise any more.
///
/// Failure: `no_target` for a batch of 0.
[[nodiscard]] constexpr planned<double> learning_rate_factor(samples from, samples to, rate_rule rule) noexcept {
  if (from == samples{} || to == samples{}) return refusal::no_target;
  double const ratio = static_cast<double>(to.value()) / static_cast<double>(from.value());
  return rule == rate_rule::linear ? ratio : detail::square_root(ratio);
}

/// The share of the learning rate in a linear warm-up: (count + 1) / over, at most 1; `count` are the updates applied
/// before this one, so that the first is not lost.
[[nodiscard]] constexpr double warm_up(updates count, updates over) noexcept {
  if (!(count < over)) return 1.0;
  return static_cast<double>(count.value() + 1) / static_cast<double>(over.value());
}

}  // namespace accrue::plan
#endif

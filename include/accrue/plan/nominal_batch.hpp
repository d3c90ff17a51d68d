// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_NOMINAL_BATCH_HPP
#define ACCRUE_PLAN_NOMINAL_BATCH_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/exact_product.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/refusal.hpp>

#include <cstdint>

namespace accrue::plan {

/// A / b rounded to the nearest, half to even.
[[nodiscard]] constexpr std::int64_t rounded_quotient(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t const whole = a / b, rest = a % b;
  bool const above = rest > b - rest || (rest == b - rest && whole % 2 != 0);
  return whole + (above ? 1 : 0);
}

/// What a nominal batch comes to.
struct nominal_group {
  microbatches group;
  samples effective_batch;     ///< the real one
  double weight_decay_factor;  ///< effective over nominal

  friend constexpr bool operator==(nominal_group const&, nominal_group const&) = default;
};

/// The group of trainers that name a nominal batch: A = max(1, round(nominal / batch)), half to even, and weight decay
/// times batch A / nominal. `batch` is that of all replicas for one microbatch each.
///
/// Failure: `no_target`, `empty_microbatch` for 0; `too_large`. Source: Ultralytics YOLOv5 and later, where the nominal
/// batch is 64.
[[nodiscard]] constexpr planned<nominal_group> group_for_nominal(samples nominal, samples batch) noexcept {
  if (nominal == samples{}) return refusal::no_target;
  if (batch == samples{}) return refusal::empty_microbatch;
  std::int64_t const rounded = rounded_quotient(nominal.value(), batch.value());
  std::int64_t const group = rounded > 1 ? rounded : 1;
  auto const effective = exact_product<samples>({batch.value(), group});
  if (!effective) return *effective.reason();
  return nominal_group{microbatches{group}, effective.value(),
                       static_cast<double>(effective.value().value()) / static_cast<double>(nominal.value())};
}

}  // namespace accrue::plan
#endif

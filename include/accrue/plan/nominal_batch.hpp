// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_NOMINAL_BATCH_HPP
#define ACCRUE_PLAN_NOMINAL_BATCH_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/exact_product.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/refusal.hpp>

#include <cstdint>
#include <limits>

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

/// The group of such a trainer while it warms up: max(1, round(1 + (nominal / batch - 1) n / over)), half to even,
/// where n counts microbatches from the start of the run; from `over` on as `group_for_nominal`.
///
/// Guarantee: exact, where trainers round what a float comes to. Failure: as `group_for_nominal`.
[[nodiscard]] constexpr planned<microbatches> warm_up_group(samples nominal, samples batch, microbatches count,
                                                            microbatches over) noexcept {
  auto const after = group_for_nominal(nominal, batch);
  if (!after) return *after.reason();
  if (!(count < over)) return after.value().group;
  if (!(batch < nominal)) return microbatches{1};
  // 1 + (nominal - batch) n / (batch over)
  auto const rise = exact_product<std::int64_t>({nominal.value() - batch.value(), count.value()});
  auto const whole = exact_product<std::int64_t>({batch.value(), over.value()});
  if (!rise) return *rise.reason();
  if (!whole) return *whole.reason();
  if (rise.value() > std::numeric_limits<std::int64_t>::max() - whole.value()) return refusal::too_large;
  return microbatches{rounded_quotient(whole.value() + rise.value(), whole.value())};
}

}  // namespace accrue::plan
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_ELASTIC_HPP
#define ACCRUE_PLAN_ELASTIC_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/exact_product.hpp>
#include <accrue/plan/microbatches_for.hpp>
#include <accrue/plan/missed_target.hpp>
#include <accrue/plan/nominal_batch.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/units.hpp>

#include <cstdint>

namespace accrue::plan {

/// How far an effective batch may be from its target: a tenth of it is `1` of `10`.
struct band {
  std::int64_t part = 0;
  std::int64_t of = 1;
};

/// A for `across` replicas so that m A D stays at `target`, or the nearest to it within the band; the effective batch
/// is the real one.
///
/// Failure: as `microbatches_for`; outside of the band with the neighbours. Bad bands, negative or of 0, are
/// `off_target` for every inexact group.
[[nodiscard]] constexpr planned<neighbour<microbatches>, missed_target<microbatches>> group_for_replicas(
    samples target, samples microbatch, replicas across, band within = {}) noexcept {
  auto const exact = microbatches_for(target, microbatch, across);
  if (exact) return neighbour<microbatches>{exact.value(), target};
  missed_target<microbatches> const missed = *exact.reason();
  if (missed.why != refusal::off_target || within.of <= 0 || within.part <= 0) return missed;
  auto const distance = [&](neighbour<microbatches> const& n) {
    std::int64_t const difference = n.effective_batch.value() - target.value();
    return difference < 0 ? -difference : difference;
  };
  auto const nearest = !missed.below                                                       ? missed.above
                       : missed.above && distance(*missed.above) < distance(*missed.below) ? missed.above
                                                                                           : missed.below;
  if (!nearest) return missed;
  auto const off = exact_product<samples>({distance(*nearest), within.of});
  auto const allowed = exact_product<samples>({target.value(), within.part});
  if (!off || (allowed && allowed.value() < off.value())) return missed;
  return *nearest;
}

}  // namespace accrue::plan
#endif

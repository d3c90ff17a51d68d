// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_EFFECTIVE_BATCH_HPP
#define ACCRUE_PLAN_EFFECTIVE_BATCH_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/exact_product.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/units.hpp>

namespace accrue::plan {

/// The samples that one update learns from: microbatch x group x replicas.
///
/// Guarantee: exact. Only data-parallel replicas multiply a batch; `replicas_of` counts them.
/// Failure: refuses an `empty_microbatch`, an `empty_group`, `no_replicas`, and what is `too_large`.
[[nodiscard]] constexpr planned<samples> effective_batch(samples microbatch, microbatches group,
                                                         replicas across = replicas{1}) noexcept {
  if (microbatch == samples{}) return refusal::empty_microbatch;
  if (group == microbatches{}) return refusal::empty_group;
  if (across == replicas{}) return refusal::no_replicas;
  return exact_product<samples>({microbatch.value(), group.value(), across.value()});
}

/// The positions that one update sees: the effective batch, every sample as long as the sequence.
///
/// Guarantee: exact, and an upper bound of the tokens: which positions are supervised only the data knows.
/// Failure: refuses as `effective_batch` does, and `no_length`.
[[nodiscard]] constexpr planned<positions> positions_per_update(samples microbatch, length sequence, microbatches group,
                                                                replicas across = replicas{1}) noexcept {
  auto const batch = effective_batch(microbatch, group, across);
  if (!batch) return *batch.reason();
  if (sequence == length{}) return refusal::no_length;
  return exact_product<positions>({batch.value().value(), sequence.value()});
}

}  // namespace accrue::plan
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_MICROBATCHES_FOR_HPP
#define ACCRUE_PLAN_MICROBATCHES_FOR_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/units.hpp>
#include <accrue/plan/exact_product.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/units.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace accrue::plan {

/// A group that can be had, and the batch that it really gives.
struct neighbour {
  microbatches group;
  samples effective_batch;

  friend bool operator==(neighbour const&, neighbour const&) = default;
};

/// Why no group meets a target; when it lies between two groups (`refusal::off_target`), which they are.
struct missed_target {
  refusal why = refusal::off_target;
  samples target{};
  std::optional<neighbour> below{};  ///< nothing where one microbatch is too much already
  std::optional<neighbour> above{};  ///< nothing where its batch exceeds 63 bits

  friend bool operator==(missed_target const&, missed_target const&) = default;
};

/// The error that `planned::value()` throws for a missed target: names the neighbours and their true batches.
[[nodiscard]] inline error as_error(missed_target const& missed) {
  auto const [what, why, way_out] = explain(missed.why);
  if (missed.why != refusal::off_target) return error(what, why, way_out);

  std::string offers;
  for (auto const& offer : {missed.below, missed.above}) {
    if (!offer) continue;
    if (!offers.empty()) offers += ", ";
    offers += "a group of " + std::to_string(offer->group.value()) + " gives " +
              std::to_string(offer->effective_batch.value());
  }
  return error(std::string(what) + " of " + std::to_string(missed.target.value()) + " samples", offers, way_out);
}

/// The microbatches of a group whose effective batch is the target, exactly.
///
/// Guarantee: `effective_batch(microbatch, answer, across)` is the target; never 0, never rounded.
/// Failure: refuses a target that is no multiple of microbatch x replicas, with both neighbours; `no_target`,
/// an `empty_microbatch`, `no_replicas`, and a microbatch x replicas that is `too_large`.
[[nodiscard]] constexpr planned<microbatches, missed_target> microbatches_for(samples target, samples microbatch,
                                                                              replicas across = replicas{1}) noexcept {
  if (target == samples{}) return missed_target{refusal::no_target, target};
  if (microbatch == samples{}) return missed_target{refusal::empty_microbatch, target};
  if (across == replicas{}) return missed_target{refusal::no_replicas, target};
  auto const one = exact_product<samples>({microbatch.value(), across.value()});
  if (!one) return missed_target{*one.reason(), target};

  std::int64_t const each = one.value().value();
  std::int64_t const whole = target.value() / each;
  std::int64_t const rest = target.value() % each;
  if (rest == 0) return microbatches{whole};

  missed_target missed{refusal::off_target, target};
  if (whole > 0) missed.below = neighbour{microbatches{whole}, samples{whole * each}};
  if (auto const more = exact_product<samples>({whole + 1, each})) {
    missed.above = neighbour{microbatches{whole + 1}, more.value()};
  }
  return missed;
}

}  // namespace accrue::plan
#endif

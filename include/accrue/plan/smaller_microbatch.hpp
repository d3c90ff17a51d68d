// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_SMALLER_MICROBATCH_HPP
#define ACCRUE_PLAN_SMALLER_MICROBATCH_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/largest_divisor.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/refusal.hpp>
#include <accrue/plan/units.hpp>

#include <cstdint>

namespace accrue::plan {

/// A replica's group that meets a target exactly: A - 1 microbatches of m samples, and a last one.
struct cut_group {
  samples microbatch;
  microbatches group;
  samples last;  ///< m, or less where the target does not divide

  friend constexpr bool operator==(cut_group const&, cut_group const&) = default;
};

/// The group of microbatches of this size that meets a target exactly, the last one being smaller if need be.
///
/// Under `per_sample` and `per_token` it is the update of the full batch, because weights count what is there.
/// Failure: `off_target` where replicas cannot share the target equally; `no_target`, `empty_microbatch`,
/// `no_replicas` for what is 0.
[[nodiscard]] constexpr planned<cut_group> uneven_group(samples target, samples microbatch,
                                                        replicas across = replicas{1}) noexcept {
  if (target == samples{}) return refusal::no_target;
  if (microbatch == samples{}) return refusal::empty_microbatch;
  if (across == replicas{}) return refusal::no_replicas;
  if (target.value() % across.value() != 0) return refusal::off_target;
  std::int64_t const own = target.value() / across.value();
  std::int64_t const size = microbatch.value() < own ? microbatch.value() : own;
  std::int64_t const full = own / size, rest = own % size;
  return cut_group{samples{size}, microbatches{full + (rest > 0 ? 1 : 0)}, samples{rest > 0 ? rest : size}};
}

/// After running out of memory: the largest microbatch below this one of which a whole number meets the target, and how
/// many that are.
///
/// Cost: at most twice the square root of a replica's samples in divisions. Failure: `smallest_microbatch` for a
/// microbatch of 1, and as `uneven_group`.
[[nodiscard]] constexpr planned<cut_group> smaller_microbatch(samples target, samples microbatch,
                                                              replicas across = replicas{1}) noexcept {
  auto const now = uneven_group(target, microbatch, across);
  if (!now) return *now.reason();
  if (now.value().microbatch == samples{1}) return refusal::smallest_microbatch;
  std::int64_t const own = target.value() / across.value();
  std::int64_t const size = largest_divisor(own, now.value().microbatch.value() - 1);
  return cut_group{samples{size}, microbatches{own / size}, samples{size}};
}

/// The same where the last microbatch may be smaller: a size below this one of which one microbatch more than now is
/// enough, so that sizes shrink by less.
///
/// Failure: as `smaller_microbatch`.
[[nodiscard]] constexpr planned<cut_group> smaller_uneven_microbatch(samples target, samples microbatch,
                                                                     replicas across = replicas{1}) noexcept {
  auto const now = uneven_group(target, microbatch, across);
  if (!now) return *now.reason();
  std::int64_t const size = now.value().microbatch.value();
  if (size == 1) return refusal::smallest_microbatch;
  std::int64_t const own = target.value() / across.value(), count = now.value().group.value() + 1;
  std::int64_t const even = own / count + (own % count != 0 ? 1 : 0);
  return uneven_group(samples{own}, samples{even < size ? even : size - 1});
}

}  // namespace accrue::plan
#endif

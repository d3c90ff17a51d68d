// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_MEMORY_LINE_HPP
#define ACCRUE_PLAN_MEMORY_LINE_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/exact_product.hpp>
#include <accrue/plan/largest_divisor.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/refusal.hpp>
#include <accrue/plan/smaller_microbatch.hpp>
#include <accrue/plan/units.hpp>

#include <cstdint>
#include <limits>

namespace accrue::plan {

/// What a microbatch of m samples takes: so many bytes, and so many for each sample.
struct memory_line {
  std::int64_t fixed_bytes = 0;       ///< parameters, gradients, buffer, optimizer state, and what a program has anyway
  std::int64_t bytes_per_sample = 0;  ///< activations

  /// Failure: `too_large`.
  [[nodiscard]] constexpr planned<std::int64_t> bytes(samples microbatch) const noexcept {
    auto const activations = exact_product<std::int64_t>({microbatch.value(), bytes_per_sample});
    if (!activations || activations.value() > std::numeric_limits<std::int64_t>::max() - fixed_bytes)
      return refusal::too_large;
    return fixed_bytes + activations.value();
  }
  friend constexpr bool operator==(memory_line const&, memory_line const&) = default;
};

/// A peak that was measured.
struct memory_peak {
  samples microbatch;
  std::int64_t bytes;
};

/// The line through two measured peaks; between them and below it never promises less than they say, by a byte for each
/// sample at most.
///
/// Failure: `one_measurement` for two of one microbatch, and for peaks that fall where the microbatch grows.
[[nodiscard]] constexpr planned<memory_line> calibrated(memory_peak a, memory_peak b) noexcept {
  if (b.microbatch < a.microbatch) return calibrated(b, a);
  if (a.microbatch == b.microbatch || b.bytes < a.bytes || a.bytes < 0) return refusal::one_measurement;
  std::int64_t const samples_between = b.microbatch.value() - a.microbatch.value();
  std::int64_t const bytes_between = b.bytes - a.bytes;
  std::int64_t const each = bytes_between / samples_between + (bytes_between % samples_between != 0 ? 1 : 0);
  auto const of_a = exact_product<std::int64_t>({each, a.microbatch.value()});
  if (!of_a) return *of_a.reason();
  std::int64_t const fixed = a.bytes - of_a.value();
  return memory_line{fixed > 0 ? fixed : 0, each};
}

/// The largest microbatch within a budget of bytes.
///
/// Failure: `no_room` where one sample is too much.
[[nodiscard]] constexpr planned<samples> largest_microbatch(memory_line const& line, std::int64_t budget) noexcept {
  std::int64_t const left = budget - line.fixed_bytes;
  if (budget < line.fixed_bytes || left < line.bytes_per_sample) return refusal::no_room;
  if (line.bytes_per_sample <= 0) return samples{std::numeric_limits<std::int64_t>::max()};
  return samples{left / line.bytes_per_sample};
}

/// Calls `visit(cut_group)` for every microbatch within the budget of which a whole number meets the target, the
/// largest first; returns how many there are.
///
/// Cost: at most twice the square root of a replica's samples in divisions. Failure: as `largest_microbatch` and
/// `uneven_group`.
template <class Visit>
constexpr planned<std::int64_t> for_each_plan(samples target, replicas across, memory_line const& line,
                                              std::int64_t budget, Visit const& visit) {
  auto const largest = largest_microbatch(line, budget);
  if (!largest) return *largest.reason();
  auto const widest = uneven_group(target, largest.value(), across);
  if (!widest) return *widest.reason();
  std::int64_t const own = target.value() / across.value();
  std::int64_t found = 0;
  for (std::int64_t at_most = widest.value().microbatch.value(); at_most > 0; ++found) {
    std::int64_t const m = largest_divisor(own, at_most);
    visit(cut_group{samples{m}, microbatches{own / m}, samples{m}});
    at_most = m - 1;
  }
  return found;
}

}  // namespace accrue::plan
#endif

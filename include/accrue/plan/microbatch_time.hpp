// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_MICROBATCH_TIME_HPP
#define ACCRUE_PLAN_MICROBATCH_TIME_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/refusal.hpp>

#include <cstdint>
#include <limits>

namespace accrue::plan {

/// What a microbatch of m samples takes: so long, and so long for each sample. A is what makes the first part count.
struct microbatch_time {
  double fixed_seconds = 0.0;  ///< launches, the addition of the gradient, whatever does not grow with m
  double seconds_per_sample = 0.0;

  [[nodiscard]] constexpr double seconds(samples microbatch) const noexcept {
    return fixed_seconds + seconds_per_sample * static_cast<double>(microbatch.value());
  }
  /// A replica's group, without its update.
  [[nodiscard]] constexpr double seconds(samples microbatch, microbatches group) const noexcept {
    return seconds(microbatch) * static_cast<double>(group.value());
  }
  [[nodiscard]] constexpr double samples_per_second(samples microbatch) const noexcept {
    return static_cast<double>(microbatch.value()) / seconds(microbatch);
  }
  /// What of the time is not the samples'.
  [[nodiscard]] constexpr double overhead(samples microbatch) const noexcept {
    return fixed_seconds / seconds(microbatch);
  }
  friend constexpr bool operator==(microbatch_time const&, microbatch_time const&) = default;
};

/// A time that was measured.
struct timed_microbatch {
  samples microbatch;
  double seconds;
};

/// The line through two timings.
///
/// Failure: `one_measurement` for two of one microbatch, and for times that fall where the microbatch grows, or grow
/// more than it does; `no_number` for a time that is not above 0 and finite.
[[nodiscard]] constexpr planned<microbatch_time> calibrated(timed_microbatch a, timed_microbatch b) noexcept {
  constexpr double most = std::numeric_limits<double>::max();
  if (!(a.seconds > 0.0 && a.seconds <= most && b.seconds > 0.0 && b.seconds <= most)) return refusal::no_number;
  if (b.microbatch < a.microbatch) return calibrated(b, a);
  if (a.microbatch == b.microbatch || b.seconds < a.seconds) return refusal::one_measurement;
  double const each = (b.seconds - a.seconds) / static_cast<double>(b.microbatch.value() - a.microbatch.value());
  double const fixed = a.seconds - each * static_cast<double>(a.microbatch.value());
  if (fixed < -1e-9 * a.seconds) return refusal::one_measurement;
  return microbatch_time{fixed > 0.0 ? fixed : 0.0, each};
}

/// The smallest microbatch whose overhead is at most this share of its time: smaller ones stop paying.
///
/// Failure: `no_number` for a share that is not above 0 and below 1, and where samples cost no time.
[[nodiscard]] constexpr planned<samples> smallest_that_pays(microbatch_time const& time, double share) noexcept {
  if (!(share > 0.0 && share < 1.0) || !(time.seconds_per_sample > 0.0)) return refusal::no_number;
  double const exact = time.fixed_seconds * (1.0 - share) / (share * time.seconds_per_sample);
  if (!(exact < 9e18)) return refusal::too_large;
  auto m = static_cast<std::int64_t>(exact);
  while (m < 1 || time.overhead(samples{m}) > share) ++m;
  return samples{m};
}

}  // namespace accrue::plan
#endif

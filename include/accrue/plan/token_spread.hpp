// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_TOKEN_SPREAD_HPP
#define ACCRUE_PLAN_TOKEN_SPREAD_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/learning_rate.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/refusal.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace accrue::plan {

/// A bar of a histogram of lengths: so many samples of so many tokens each.
struct length_bar {
  tokens each{};
  samples count{};  ///< bars of 0 samples are not there

  friend constexpr bool operator==(length_bar const&, length_bar const&) = default;
};

/// How many samples a histogram has, and how many tokens they are.
struct length_totals {
  samples count{};
  tokens all{};
  tokens longest{};

  friend constexpr bool operator==(length_totals const&, length_totals const&) = default;
};

/// Failure: `no_lengths` for no samples; `too_large`.
template <std::size_t Bars>
[[nodiscard]] constexpr planned<length_totals> totals_of(std::array<length_bar, Bars> const& lengths) noexcept {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t count = 0, all = 0, longest = 0;
  for (auto const& [each, samples_here] : lengths) {
    std::int64_t const here = samples_here.value();
    if (here == 0) continue;
    if (here > most - count || each.value() > (most - all) / here) return refusal::too_large;
    count += here;
    all += here * each.value();
    longest = each.value() > longest ? each.value() : longest;
  }
  if (count == 0) return refusal::no_lengths;
  return length_totals{samples{count}, tokens{all}, tokens{longest}};
}

/// How the samples of an update are drawn.
enum class drawing {
  independent,          ///< each from all of them, as from a stream without an end
  without_replacement,  ///< none twice, as within a pass over the data
};

/// The tokens of an update as a random number.
struct token_spread {
  double expected;
  double standard_deviation;

  friend constexpr bool operator==(token_spread const&, token_spread const&) = default;
};

/// What an update of `batch` samples from a histogram of lengths has of tokens.
///
/// With n samples of N, of mean length l and variance v: n l, and the root of n v, times (N - n) / (N - 1) under the
/// root without replacement. Let the lengths count what the loss counts. Order: one pass for the mean, one for the
/// variance. Failure: as `totals_of`; `more_than_data` for a batch that cannot be drawn without replacement.
template <std::size_t Bars>
[[nodiscard]] constexpr planned<token_spread> tokens_per_update(std::array<length_bar, Bars> const& lengths,
                                                                samples batch,
                                                                drawing how = drawing::independent) noexcept {
  auto const totals = totals_of(lengths);
  if (!totals) return *totals.reason();
  bool const once = how == drawing::without_replacement;
  if (once && batch > totals.value().count) return refusal::more_than_data;
  auto const there = static_cast<double>(totals.value().count.value());
  auto const drawn = static_cast<double>(batch.value());
  double const mean = static_cast<double>(totals.value().all.value()) / there;
  double squares = 0.0;
  for (auto const& [each, count] : lengths) {
    double const off = static_cast<double>(each.value()) - mean;
    squares += static_cast<double>(count.value()) * off * off;
  }
  double variance = drawn * (squares / there);
  if (once) variance *= there > 1.0 ? (there - drawn) / (there - 1.0) : 0.0;
  return token_spread{drawn * mean, variance > 0.0 ? detail::square_root(variance) : 0.0};
}

}  // namespace accrue::plan
#endif

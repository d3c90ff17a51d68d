// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_PACKED_ROWS_HPP
#define ACCRUE_PLAN_PACKED_ROWS_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/refusal.hpp>
#include <accrue/plan/token_spread.hpp>
#include <accrue/plan/units.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace accrue::plan {

/// The rows of `row` positions that samples of these lengths are packed into: a histogram of the tokens of a row, to
/// hand to `totals_of` and `tokens_per_update`. No sample is split.
///
/// First fit decreasing: the longest first, each into the first row that has room. Equal rows are kept together, so the
/// answer is exact for any number of samples. Cost: bars x bars. Failure: `longer_than_row`; `no_length` for a row, and
/// for samples, of 0; as `totals_of`. Source of the order: Johnson 1973; never more than 11/9 of the fewest rows,
/// and 1.
template <std::size_t Bars>
[[nodiscard]] constexpr planned<std::array<length_bar, 2 * Bars>> packed_rows(
    std::array<length_bar, Bars> const& lengths, length row) noexcept {
  auto const totals = totals_of(lengths);
  if (!totals) return *totals.reason();
  if (row == length{}) return refusal::no_length;
  if (totals.value().longest.value() > row.value()) return refusal::longer_than_row;

  struct equal_rows {
    std::int64_t filled = 0;
    std::int64_t count = 0;
  };
  // In the order in which first fit opened them. A length splits one run of equal rows in three, or opens two.
  std::array<equal_rows, 2 * Bars> rows{};
  std::size_t used = 0;
  std::int64_t const room = row.value();

  std::int64_t before = room + 1;  // lengths below this one are still to be packed
  while (true) {
    std::int64_t size = -1, left = 0;
    for (auto const& [each, count] : lengths) {
      if (count == samples{} || each.value() >= before || each.value() < size) continue;
      left = each.value() == size ? left + count.value() : count.value();
      size = each.value();
    }
    if (size < 0) break;
    if (size == 0) return refusal::no_length;
    before = size;

    for (std::size_t r = 0; r < used && left > 0; ++r) {
      std::int64_t const fit = (room - rows[r].filled) / size;
      if (fit == 0) continue;
      std::int64_t const full = left / fit < rows[r].count ? left / fit : rows[r].count;
      std::int64_t const rest = full < rows[r].count ? left % fit : 0;
      equal_rows const old = rows[r];
      left -= full * fit + rest;
      std::array<equal_rows, 3> const parts{{{old.filled + fit * size, full},
                                             {old.filled + rest * size, rest > 0 ? 1 : 0},
                                             {old.filled, old.count - full - (rest > 0 ? 1 : 0)}}};
      std::size_t there = 0;
      for (auto const& part : parts) there += part.count > 0 ? 1 : 0;
      for (std::size_t move = used; move > r + 1; --move) rows[move + there - 2] = rows[move - 1];
      used += there - 1;
      std::size_t at = r;
      for (auto const& part : parts)
        if (part.count > 0) rows[at++] = part;
    }
    std::int64_t const fit = room / size;
    if (left / fit > 0) rows[used++] = {fit * size, left / fit};
    if (left % fit > 0) rows[used++] = {left % fit * size, 1};
  }

  std::array<length_bar, 2 * Bars> bars{};
  for (std::size_t r = 0; r < used; ++r) bars[r] = {tokens{rows[r].filled}, samples{rows[r].count}};
  return bars;
}

}  // namespace accrue::plan
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topics.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace batch_plan {

void say_lengths(report_writer& out, batch const& of) {
  auto const& given_lengths = out.numbers(in::lengths);
  if (given_lengths.empty()) return;
  std::array<plan::length_bar, 64> bars{};
  for (std::size_t i = 0; 2 * i < given_lengths.size(); ++i)
    bars[i] = {tokens{given_lengths[2 * i]}, samples{given_lengths[2 * i + 1]}};
  auto const totals = out.want(plan::totals_of(bars), in::lengths);
  auto const spread = out.want(plan::tokens_per_update(bars, of.all), in::lengths);
  if (!totals || !spread) return;
  auto const say_spread = [&](std::string_view name, plan::length_totals const& data, plan::token_spread const& update,
                              std::int64_t row) {
    double const capacity = static_cast<double>(data.count.value()) * static_cast<double>(row);
    auto& to = out.row_of("lengths");
    say(to, "layout", name);
    say(to, "rows", data.count.value());
    say(to, "positions_of_a_row", row);
    say(to, "filled", capacity > 0.0 ? 100.0 * static_cast<double>(data.all.value()) / capacity : 0.0, "%");
    say(to, "tokens_per_update", update.expected);
    say(to, "standard_deviation", update.standard_deviation);
  };
  std::int64_t const row = out.number(in::length, totals->longest.value());
  if (row < totals->longest.value()) return out.complain(in::length, text_of(plan::refusal::longer_than_row));
  say_spread("padded", *totals, *spread, row);
  if (row == 0) return;
  auto const packed = out.want(plan::packed_rows(bars, plan::length{row}), in::lengths);
  if (!packed) return;
  say_spread("packed", plan::totals_of(*packed).value(), plan::tokens_per_update(*packed, of.all).value(), row);
}

}  // namespace batch_plan

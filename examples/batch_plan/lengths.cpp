// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topics.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace batch_plan {
namespace {

using bars = std::array<plan::length_bar, 64>;

bars bars_of(std::vector<std::int64_t> const& numbers) {
  bars result{};
  for (std::size_t i = 0; 2 * i < numbers.size(); ++i)
    result[i] = {tokens{numbers[2 * i]}, samples{numbers[2 * i + 1]}};
  return result;
}

}  // namespace

std::optional<token_average> measured_average(report_writer& out) {
  constexpr std::int64_t millionths = 1'000'000;
  if (out.has(in::tokens_per_sample))
    return token_average{tokens{out.number(in::tokens_per_sample)}, samples{millionths}};
  if (!out.has(in::lengths)) {
    out.complain(in::tokens_per_sample, "missing; a target in tokens needs it, or lengths");
    return std::nullopt;
  }
  auto const totals = out.want(plan::totals_of(bars_of(out.numbers(in::lengths))), in::lengths);
  if (!totals) return std::nullopt;
  return token_average{totals->all, totals->count};
}

void say_lengths(report_writer& out, batch const& of) {
  if (!out.has(in::lengths)) return;
  bars const histogram = bars_of(out.numbers(in::lengths));
  auto const totals = out.want(plan::totals_of(histogram), in::lengths);
  auto const spread = out.want(plan::tokens_per_update(histogram, of.all), in::lengths);
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
  auto const packed = out.want(plan::packed_rows(histogram, plan::length{row}), in::lengths);
  if (!packed) return;
  say_spread("packed", plan::totals_of(*packed).value(), plan::tokens_per_update(*packed, of.all).value(), row);
}

}  // namespace batch_plan

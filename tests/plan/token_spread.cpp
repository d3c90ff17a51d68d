// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/token_spread.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <vector>

namespace plan = accrue::plan;
using accrue::samples;
using accrue::tokens;
using plan::drawing;
using plan::length_bar;
using plan::refusal;
using plan::tokens_per_update;
using plan::totals_of;

namespace {

// [snippet token_spread]
constexpr std::array lengths{length_bar{tokens{2}, samples{3}}, length_bar{tokens{6}, samples{1}}};
static_assert(totals_of(lengths) == plan::length_totals{samples{4}, tokens{12}, tokens{6}});

constexpr auto spread = tokens_per_update(lengths, samples{12}).value();
static_assert(spread.expected == 36.0);           // 12 samples of 3 tokens in the mean
static_assert(spread.standard_deviation == 6.0);  // the root of 12 x 3

// A whole pass, none drawn twice, is always the same.
static_assert(tokens_per_update(lengths, samples{4}, drawing::without_replacement) == plan::token_spread{12.0, 0.0});
// [/snippet token_spread]

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
static_assert(totals_of(std::array<length_bar, 0>{}) == refusal::no_lengths);
static_assert(totals_of(std::array{length_bar{tokens{most}, samples{}}}) == refusal::no_lengths);
static_assert(totals_of(std::array{length_bar{tokens{most}, samples{2}}}) == refusal::too_large);
static_assert(totals_of(std::array{length_bar{tokens{1}, samples{most}}, length_bar{tokens{0}, samples{1}}}) ==
              refusal::too_large);
static_assert(tokens_per_update(lengths, samples{5}, drawing::without_replacement) == refusal::more_than_data);
static_assert(tokens_per_update(std::array<length_bar, 1>{}, samples{1}) == refusal::no_lengths);
static_assert(tokens_per_update(lengths, samples{}) == plan::token_spread{0.0, 0.0});
static_assert(tokens_per_update(std::array{length_bar{tokens{7}, samples{1}}}, samples{1},
                                drawing::without_replacement) == plan::token_spread{7.0, 0.0});

// Every way to draw so many of these, in order.
struct enumeration {
  std::vector<double> population;
  std::vector<bool> taken;
  double sum = 0.0, squares = 0.0, ways = 0.0;

  void draw(int left, bool again, double tokens_so_far) {
    if (left == 0) {
      sum += tokens_so_far;
      squares += tokens_so_far * tokens_so_far;
      ways += 1.0;
      return;
    }
    for (std::size_t i = 0; i < population.size(); ++i) {
      if (!again && taken[i]) continue;
      taken[i] = true;
      draw(left - 1, again, tokens_so_far + population[i]);
      taken[i] = false;
    }
  }
};

}  // namespace

TEST_CASE("plan: expected tokens and their spread are those of every way to draw an update") {
  std::array const bars{length_bar{tokens{1}, samples{2}}, length_bar{tokens{5}, samples{1}},
                        length_bar{tokens{9}, samples{2}}, length_bar{tokens{2}, samples{1}}};
  for (drawing how : {drawing::independent, drawing::without_replacement})
    for (int batch = 1; batch <= 5; ++batch) {
      enumeration all{{1, 1, 5, 9, 9, 2}, std::vector<bool>(6)};
      all.draw(batch, how == drawing::independent, 0.0);
      double const mean = all.sum / all.ways;
      auto const found = tokens_per_update(bars, samples{batch}, how).value();
      CHECK(found.expected == doctest::Approx(mean).epsilon(1e-12));
      CHECK(found.standard_deviation == doctest::Approx(std::sqrt(all.squares / all.ways - mean * mean)).epsilon(1e-9));
    }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/ramp.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <span>

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::samples;
using accrue::tokens;
using accrue::updates;
using plan::linear_ramp;
using plan::refusal;
using plan::stage;
using plan::staged_ramp;

namespace {

// [snippet ramp]
constexpr linear_ramp warm_up{microbatches{1}, microbatches{4}, updates{100}};
static_assert(warm_up.at(updates{0}) == microbatches{1});
static_assert(warm_up.at(updates{50}) == microbatches{2});  // 2.5, half to even
static_assert(warm_up.at(updates{1000}) == microbatches{4});

constexpr staged_ramp batch{stage{tokens{0}, samples{256}}, stage{tokens{1'000'000}, samples{512}},
                            stage{tokens{3'000'000}, samples{1024}}};
static_assert(batch.at(tokens{999'999}) == samples{256});
static_assert(batch.at(tokens{1'000'000}) == samples{512});
static_assert(batch.at(tokens{10'000'000}) == samples{1024});
// [/snippet ramp]
static_assert(linear_ramp{microbatches{8}, microbatches{2}, updates{3}}.at(updates{1}) == microbatches{6});
static_assert(linear_ramp{microbatches{8}, microbatches{2}, updates{0}}.at(updates{0}) == microbatches{2});
static_assert(staged_ramp{stage{updates{5}, samples{1}}}.at(updates{7}).reason() == refusal::no_stage);
static_assert(staged_ramp{stage{updates{0}, samples{1}}, stage{updates{0}, samples{2}}}.at(updates{7}).reason() ==
              refusal::no_stage);

// [snippet value_at]
constexpr std::array several{stage{updates{0}, microbatches{1}}, stage{updates{10}, microbatches{2}},
                             stage{updates{10}, microbatches{4}}};
constexpr std::span<stage<microbatches, updates> const> all(several);
static_assert(plan::value_at(all.first(2), updates{10}) == microbatches{2});  // as many as a program has read
static_assert(plan::misplaced_stage(all) == 2);                               // which of them to complain about
static_assert(plan::value_at(all, updates{0}).reason() == refusal::no_stage);
// [/snippet value_at]
static_assert(!plan::misplaced_stage(all.first(2)));
static_assert(plan::misplaced_stage(all.last(2)) == 0);
static_assert(plan::value_at(all.first(0), updates{0}).reason() == refusal::no_stage);

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
static_assert(linear_ramp{samples{1}, samples{most}, tokens{most}}.at(tokens{most / 2}).reason() == refusal::too_large);

}  // namespace

TEST_CASE("P-065 ramp: a group is full when it has as many microbatches as are asked for when the last of them comes") {
  constexpr staged_ramp a{stage{microbatches{0}, microbatches{1}}, stage{microbatches{2}, microbatches{2}},
                          stage{microbatches{5}, microbatches{3}}, stage{microbatches{9}, microbatches{4}}};
  constexpr auto closed = [=] {
    std::array<std::int64_t, 6> after{};  // microbatches seen when each group is closed, and those left at the end
    std::size_t groups = 0;
    std::int64_t held = 0;
    for (std::int64_t seen = 0; seen < 14; ++seen) {
      if (++held < a.at(microbatches{seen}).value().value()) continue;
      after[groups++] = seen + 1;
      held = 0;
    }
    after[groups] = held;
    return after;
  }();
  static_assert(closed == std::array<std::int64_t, 6>{1, 2, 4, 7, 11, 3});
}

TEST_CASE("plan: a linear ramp is rounded as nearbyint rounds the line") {
  for (std::int64_t from = 1; from < 9; ++from)
    for (std::int64_t to = 1; to < 9; ++to)
      for (std::int64_t n = 0; n <= 16; ++n) {  // sixteenths are exact in double
        double const line = static_cast<double>(from) + static_cast<double>((to - from) * n) / 16.0;
        REQUIRE(linear_ramp{samples{from}, samples{to}, updates{16}}.at(updates{n}) ==
                samples{static_cast<std::int64_t>(std::nearbyint(line))});
      }
}

TEST_CASE("plan: a linear ramp never falls back and meets both ends") {
  for (std::int64_t from = 1; from < 9; ++from)
    for (std::int64_t to = 1; to < 9; ++to)
      for (std::int64_t over = 1; over < 40; ++over) {
        linear_ramp const ramp{microbatches{from}, microbatches{to}, updates{over}};
        std::int64_t before = from;
        REQUIRE(ramp.at(updates{0}).value() == microbatches{from});
        for (std::int64_t n = 0; n <= over + 2; ++n) {
          std::int64_t const now = ramp.at(updates{n}).value().value();
          REQUIRE((to >= from ? now >= before : now <= before));
          before = now;
        }
        REQUIRE(before == to);
      }
}

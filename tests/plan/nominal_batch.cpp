// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/nominal_batch.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::samples;
using plan::group_for_nominal;
using plan::nominal_group;
using plan::refusal;
using plan::rounded_quotient;

namespace {

// [snippet nominal_batch]
static_assert(group_for_nominal(samples{64}, samples{16}) == nominal_group{microbatches{4}, samples{64}, 1.0});
static_assert(group_for_nominal(samples{64}, samples{48}) == nominal_group{microbatches{1}, samples{48}, 0.75});
static_assert(group_for_nominal(samples{64}, samples{128}) == nominal_group{microbatches{1}, samples{128}, 2.0});

// 64 / 24 is 2.67: halfway through the warm-up 1.83 microbatches, after it 3.
static_assert(plan::warm_up_group(samples{64}, samples{24}, microbatches{50}, microbatches{100}) == microbatches{2});
static_assert(plan::warm_up_group(samples{64}, samples{24}, microbatches{100}, microbatches{100}) == microbatches{3});
// [/snippet nominal_batch]
static_assert(plan::warm_up_group(samples{64}, samples{16}, microbatches{0}, microbatches{100}) == microbatches{1});
static_assert(plan::warm_up_group(samples{64}, samples{16}, microbatches{50}, microbatches{100}) == microbatches{2});
static_assert(plan::warm_up_group(samples{64}, samples{16}, microbatches{0}, microbatches{0}) == microbatches{4});
static_assert(plan::warm_up_group(samples{64}, samples{128}, microbatches{1}, microbatches{9}) == microbatches{1});
static_assert(plan::warm_up_group(samples{64}, samples{0}, microbatches{1}, microbatches{9}) ==
              refusal::empty_microbatch);
static_assert(rounded_quotient(5, 2) == 2 && rounded_quotient(7, 2) == 4 && rounded_quotient(1, 2) == 0);
static_assert(group_for_nominal(samples{10}, samples{4}).value().group == microbatches{2});  // 2.5, half to even
static_assert(group_for_nominal(samples{14}, samples{4}).value().group == microbatches{4});  // 3.5
static_assert(group_for_nominal(samples{0}, samples{4}).reason() == refusal::no_target);
static_assert(group_for_nominal(samples{64}, samples{0}).reason() == refusal::empty_microbatch);
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
static_assert(group_for_nominal(samples{most}, samples{2}).reason() == refusal::too_large);  // rounds up
static_assert(plan::warm_up_group(samples{most}, samples{1}, microbatches{2}, microbatches{3}) == refusal::too_large);
static_assert(plan::warm_up_group(samples{4}, samples{2}, microbatches{1}, microbatches{most}) == refusal::too_large);
static_assert(group_for_nominal(samples{most}, samples{most}).value().group == microbatches{1});

}  // namespace

TEST_CASE("plan: quotients round as nearbyint does") {
  for (std::int64_t a = 0; a < 200; ++a)
    for (std::int64_t b = 1; b < 40; ++b)
      REQUIRE(rounded_quotient(a, b) ==
              static_cast<std::int64_t>(std::nearbyint(static_cast<double>(a) / static_cast<double>(b))));
}

TEST_CASE("plan: the warm-up of a trainer that interpolates from 1 to nominal / batch, where no float is in doubt") {
  for (std::int64_t batch = 1; batch < 80; ++batch)
    for (std::int64_t n = 0; n < 20; ++n) {
      // In numbers that double holds: (batch 20 + (64 - batch) n) / (batch 20), as trainers have it 1 + slope n.
      double const exact = 1.0 + (64.0 / static_cast<double>(batch) - 1.0) * static_cast<double>(n) / 20.0;
      if (std::abs(exact - std::floor(exact) - 0.5) < 1e-9) continue;
      auto const wanted = static_cast<std::int64_t>(std::fmax(1.0, std::nearbyint(exact)));
      REQUIRE(plan::warm_up_group(samples{64}, samples{batch}, microbatches{n}, microbatches{20}) ==
              microbatches{wanted});
    }
}

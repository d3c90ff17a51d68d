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
// [/snippet nominal_batch]
static_assert(rounded_quotient(5, 2) == 2 && rounded_quotient(7, 2) == 4 && rounded_quotient(1, 2) == 0);
static_assert(group_for_nominal(samples{10}, samples{4}).value().group == microbatches{2});  // 2.5, half to even
static_assert(group_for_nominal(samples{14}, samples{4}).value().group == microbatches{4});  // 3.5
static_assert(group_for_nominal(samples{0}, samples{4}).reason() == refusal::no_target);
static_assert(group_for_nominal(samples{64}, samples{0}).reason() == refusal::empty_microbatch);
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
static_assert(group_for_nominal(samples{most}, samples{2}).reason() == refusal::too_large);  // rounds up
static_assert(group_for_nominal(samples{most}, samples{most}).value().group == microbatches{1});

}  // namespace

TEST_CASE("plan: quotients round as nearbyint does") {
  for (std::int64_t a = 0; a < 200; ++a)
    for (std::int64_t b = 1; b < 40; ++b)
      REQUIRE(rounded_quotient(a, b) ==
              static_cast<std::int64_t>(std::nearbyint(static_cast<double>(a) / static_cast<double>(b))));
}

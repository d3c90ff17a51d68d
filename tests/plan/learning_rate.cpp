// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/learning_rate.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <ostream>

namespace plan = accrue::plan;
using accrue::samples;
using accrue::updates;
using plan::learning_rate_factor;
using plan::rate_rule;

namespace {

// [snippet learning_rate]
static_assert(learning_rate_factor(samples{256}, samples{1024}, rate_rule::linear).value() == 4.0);
static_assert(learning_rate_factor(samples{256}, samples{1024}, rate_rule::square_root).value() == 2.0);
static_assert(plan::warm_up(updates{0}, updates{10}) == 0.1);
static_assert(plan::warm_up(updates{12}, updates{10}) == 1.0);
// [/snippet learning_rate]
static_assert(learning_rate_factor(samples{0}, samples{8}, rate_rule::linear).reason() == plan::refusal::no_target);
static_assert(learning_rate_factor(samples{8}, samples{0}, rate_rule::linear).reason() == plan::refusal::no_target);
static_assert(plan::warm_up(updates{0}, updates{0}) == 1.0);

}  // namespace

TEST_CASE("plan: the square root of a batch is that of the standard library, to the last bits") {
  for (int from = 1; from < 50; ++from)
    for (int to = 1; to < 5000; to += 37)
      REQUIRE(learning_rate_factor(samples{from}, samples{to}, rate_rule::square_root).value() ==
              doctest::Approx(std::sqrt(static_cast<double>(to) / from)).epsilon(1e-15));
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/replica_scaling.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <ostream>

namespace plan = accrue::plan;
using plan::refusal;
using plan::replicas;
using plan::time_over_replicas;
using plan::update_costs;

namespace {

// [snippet replica_scaling]
constexpr update_costs costs{.compute_seconds = 0.75, .buffer_bytes = 400e6, .bytes_per_second = 2.8e9};
static_assert(time_over_replicas(costs, replicas{8}).value().communication_seconds == 0.25);  // 2 * 7 / 8 of the bytes
static_assert(time_over_replicas(costs, replicas{8}).value().efficiency == 0.75);
static_assert(time_over_replicas(costs, replicas{1}).value().efficiency == 1.0);
// [/snippet replica_scaling]
static_assert(time_over_replicas(costs, replicas{0}).reason() == refusal::no_replicas);
static_assert(time_over_replicas({.compute_seconds = -1.0}, replicas{1}).reason() == refusal::no_number);
static_assert(time_over_replicas({.compute_seconds = 1.0, .buffer_bytes = 1.0}, replicas{2}).reason() ==
              refusal::no_number);
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
static_assert(time_over_replicas({.compute_seconds = undefined}, replicas{1}).reason() == refusal::no_number);
static_assert(time_over_replicas({.bytes_per_second = 1e9, .seconds_per_message = 1e-3}, replicas{3})
                  .value()
                  .communication_seconds == 4e-3);

}  // namespace

TEST_CASE("plan: a ring sends at most twice the buffer, and latency grows with the replicas") {
  double before = 0.0;
  for (std::int64_t d = 1; d <= 1024; d *= 2) {
    auto const time = time_over_replicas(costs, replicas{d}).value();
    CHECK(time.communication_seconds >= before);
    CHECK(time.communication_seconds <= 2 * 400e6 / 2.8e9);
    before = time.communication_seconds;
  }
}

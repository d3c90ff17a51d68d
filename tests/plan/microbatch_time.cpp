// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/microbatch_time.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <ostream>

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::samples;
using plan::calibrated;
using plan::microbatch_time;
using plan::refusal;
using plan::timed_microbatch;

namespace {

// [snippet microbatch_time]
constexpr microbatch_time time =
    calibrated(timed_microbatch{samples{4}, 3.0}, timed_microbatch{samples{8}, 5.0}).value();
static_assert(time == microbatch_time{.fixed_seconds = 1.0, .seconds_per_sample = 0.5});
static_assert(time.samples_per_second(samples{6}) == 1.5);
static_assert(time.seconds(samples{6}, microbatches{8}) == 32.0);   // a group of 48 samples
static_assert(plan::smallest_that_pays(time, 0.25) == samples{6});  // 1 of 4 seconds is not the samples'
// [/snippet microbatch_time]
static_assert(calibrated(timed_microbatch{samples{8}, 5.0}, timed_microbatch{samples{4}, 3.0}).value() == time);
static_assert(calibrated(timed_microbatch{samples{8}, 5.0}, timed_microbatch{samples{8}, 3.0}).reason() ==
              refusal::one_measurement);
static_assert(calibrated(timed_microbatch{samples{1}, 1.0}, timed_microbatch{samples{2}, 3.0}).reason() ==
              refusal::one_measurement);
static_assert(calibrated(timed_microbatch{samples{1}, 0.0}, timed_microbatch{samples{2}, 3.0}).reason() ==
              refusal::no_number);
static_assert(plan::smallest_that_pays(time, 1.0).reason() == refusal::no_number);
static_assert(plan::smallest_that_pays({1.0, 0.0}, 0.5).reason() == refusal::no_number);
static_assert(plan::smallest_that_pays({1e19, 1e-9}, 0.5).reason() == refusal::too_large);
static_assert(plan::smallest_that_pays({0.0, 1.0}, 0.5) == samples{1});

}  // namespace

TEST_CASE("plan: below the smallest microbatch that pays the overhead is too much") {
  for (double share : {0.01, 0.1, 0.3, 0.9})
    for (double fixed : {1e-6, 0.3, 7.0}) {
      microbatch_time const line{fixed, 0.013};
      std::int64_t const m = plan::smallest_that_pays(line, share).value().value();
      CHECK(line.overhead(samples{m}) <= share);
      if (m > 1) CHECK(line.overhead(samples{m - 1}) > share * (1 - 1e-12));
    }
}

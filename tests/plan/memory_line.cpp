// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/memory_line.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <ostream>

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::samples;
using plan::calibrated;
using plan::largest_microbatch;
using plan::memory_line;
using plan::memory_peak;
using plan::refusal;
using plan::replicas;

namespace {

// [snippet memory_line]
constexpr memory_line line = calibrated(memory_peak{samples{4}, 1400}, memory_peak{samples{8}, 1800}).value();
static_assert(line == memory_line{.fixed_bytes = 1000, .bytes_per_sample = 100});
static_assert(line.bytes(samples{16}) == 2600);
static_assert(largest_microbatch(line, 2000) == samples{10});

constexpr std::int64_t plans =
    plan::for_each_plan(samples{64}, replicas{2}, line, 2000, [](plan::cut_group const&) {}).value();
static_assert(plans == 4);  // 8, 4, 2 and 1 of the 32 samples of a replica
// [/snippet memory_line]
static_assert(calibrated(memory_peak{samples{4}, 10}, memory_peak{samples{4}, 20}).reason() ==
              refusal::one_measurement);
static_assert(calibrated(memory_peak{samples{4}, 20}, memory_peak{samples{8}, 10}).reason() ==
              refusal::one_measurement);
static_assert(largest_microbatch(line, 1099).reason() == refusal::no_room);
static_assert(largest_microbatch(line, 1100) == samples{1});
static_assert(largest_microbatch(line, -5).reason() == refusal::no_room);
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
static_assert(memory_line{1, most}.bytes(samples{1}).reason() == refusal::too_large);

}  // namespace

TEST_CASE("plan: a calibrated line covers both peaks, and by a byte for each sample at most") {
  for (std::int64_t m = 1; m < 12; ++m)
    for (std::int64_t more = 1; more < 9; ++more)
      for (std::int64_t grown = 0; grown < 50; ++grown) {
        auto const found =
            calibrated(memory_peak{samples{m}, 100000}, memory_peak{samples{m + more}, 100000 + grown}).value();
        REQUIRE(found.bytes(samples{m}).value() == 100000);
        std::int64_t const there = found.bytes(samples{m + more}).value();
        REQUIRE((there >= 100000 + grown && there < 100000 + grown + more));
      }
}

TEST_CASE("plan: plans of a large prime and of a large power of two are found at once") {
  constexpr std::int64_t prime = 999'999'999'989;
  std::int64_t smallest = 0;
  CHECK(plan::for_each_plan(samples{prime}, replicas{1}, {0, 1}, prime - 1,
                            [&](plan::cut_group const& each) { smallest = each.microbatch.value(); }) == 1);
  CHECK(smallest == 1);
  CHECK(plan::for_each_plan(samples{std::int64_t{1} << 40}, replicas{2}, {0, 1}, most, [](auto const&) {}) == 40);
}

TEST_CASE("plan: every plan within a budget meets the target and fits, the largest first") {
  std::int64_t before = most;
  auto const count = plan::for_each_plan(samples{720}, replicas{2}, line, 5000, [&](plan::cut_group const& each) {
    CHECK(each.microbatch.value() * each.group.value() * 2 == 720);
    CHECK(line.bytes(each.microbatch).value() <= 5000);
    CHECK(each.microbatch.value() < before);
    before = each.microbatch.value();
  });
  CHECK(count == 17);  // divisors of 360 up to 40
}

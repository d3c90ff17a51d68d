// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/updates_per_pass.hpp>

#include <accrue/plan/effective_batch.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <ostream>
#include <type_traits>

#include "executed_loop.hpp"

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::positions;
using accrue::samples;
using accrue::updates;
using plan::data_pass;
using plan::last_group;
using plan::passes;
using plan::refusal;
using plan::replicas;
using plan::run_updates;
using plan::updates_over;
using plan::updates_per_pass;

namespace {

// [snippet updates_per_pass]
constexpr plan::data_pass seven{.in_pass = microbatches{7}, .per_group = microbatches{2}};

static_assert(updates_per_pass(seven, plan::last_group::keep).value().total == updates{4});
static_assert(updates_per_pass(seven, plan::last_group::drop).value().total == updates{3});
static_assert(updates_per_pass(seven, plan::last_group::drop).value().dropped == microbatches{1});
static_assert(updates_per_pass(seven, plan::last_group::refuse) == plan::refusal::partial_group);
// [/snippet updates_per_pass]

// [snippet updates_over]
static_assert(updates_over(plan::passes{24}, seven, plan::last_group::keep).value().total == updates{96});
static_assert(updates_over(plan::passes{24}, seven, plan::last_group::carry).value().total == updates{84});
// [/snippet updates_over]

constexpr std::initializer_list<last_group> all{last_group::keep, last_group::drop, last_group::carry, last_group::pad,
                                                last_group::refuse};

template <class Claim>
constexpr bool under_all(Claim const& holds) {
  for (last_group last : all)
    if (!holds(last)) return false;
  return true;
}

constexpr data_pass data(std::int64_t in_pass, std::int64_t per_group) {
  return {microbatches{in_pass}, microbatches{per_group}};
}

constexpr run_updates counts(std::int64_t total, std::int64_t in_last, std::int64_t in_all, std::int64_t dropped = 0,
                             std::int64_t carried = 0) {
  return {updates{total}, microbatches{in_last}, microbatches{in_all}, microbatches{dropped}, microbatches{carried}};
}

static_assert(!std::is_convertible_v<microbatches, updates>, "microbatches are no updates");
static_assert(!std::is_constructible_v<updates, microbatches>);
static_assert(std::is_nothrow_invocable_v<decltype(updates_over), passes, data_pass, last_group>);

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("P-014 updates per pass: the last group is planned with what it really contains") {
  static_assert(updates_per_pass(data(10, 4), last_group::keep) == counts(3, 2, 10));
  static_assert(updates_per_pass(data(10, 4), last_group::pad) == counts(3, 2, 10));
}

TEST_CASE("P-015 updates per pass: a group larger than the pass is kept, dropped or carried, never lost") {
  static_assert(updates_per_pass(data(3, 8), last_group::keep) == counts(1, 3, 3));
  static_assert(updates_per_pass(data(3, 8), last_group::drop) == counts(0, 0, 0, 3));
  static_assert(updates_per_pass(data(3, 8), last_group::carry) == counts(0, 0, 0, 0, 3));
  static_assert(updates_per_pass(data(3, 8), last_group::refuse) == refusal::partial_group);
}

TEST_CASE("P-015 updates per pass: a group of 0 microbatches is refused under every policy") {
  static_assert(under_all([](last_group last) { return updates_per_pass(data(3, 0), last) == refusal::empty_group; }));
}

TEST_CASE("P-016 updates per pass: leftovers of each pass are updated or dropped in it") {
  static_assert(updates_per_pass(data(120, 32), last_group::keep) == counts(4, 24, 120));
  static_assert(updates_per_pass(data(120, 32), last_group::drop) == counts(3, 32, 96, 24));
  static_assert(updates_over(passes{2}, data(120, 32), last_group::drop) == counts(6, 32, 192, 48));
}

TEST_CASE("P-017 updates per pass: no policy adds an update to an exact split") {
  static_assert(under_all([](last_group last) { return updates_per_pass(data(8, 4), last) == counts(2, 4, 8); }));
}

TEST_CASE("P-018 updates per pass: three loader batches of four pieces are three groups of four") {
  static_assert(updates_per_pass({.in_pass = microbatches{4} * 3, .per_group = microbatches{4}}, last_group::keep) ==
                counts(3, 4, 12));
}

TEST_CASE("P-020 updates per pass: 12 microbatches in groups of 4 advance a schedule by 3") {
  static_assert(updates_per_pass(data(12, 4), last_group::keep).value().total == updates{3});
}

TEST_CASE("P-024 updates per pass: ceiling, floor and carry-over of 24 passes") {
  static_assert(updates_over(passes{24}, data(7, 2), last_group::keep) == counts(96, 1, 168));
  static_assert(updates_over(passes{24}, data(7, 2), last_group::pad) == counts(96, 1, 168));
  static_assert(updates_over(passes{24}, data(7, 2), last_group::drop) == counts(72, 2, 144, 24));
  static_assert(updates_over(passes{24}, data(7, 2), last_group::carry) == counts(84, 2, 168));
  static_assert(updates_over(passes{24}, data(7, 2), last_group::refuse) == refusal::partial_group);
}

TEST_CASE("P-024 updates per pass: the plan and the executed loop agree") {
  for (last_group last : all) {
    for (std::int64_t in_pass = 0; in_pass <= 13; ++in_pass) {
      for (std::int64_t per_group = 1; per_group <= 6; ++per_group) {
        for (std::int64_t run = 0; run <= 4; ++run) {
          CAPTURE(static_cast<int>(last));
          CAPTURE(in_pass);
          CAPTURE(per_group);
          CAPTURE(run);
          auto const planned = updates_over(passes{run}, data(in_pass, per_group), last);
          if (last == last_group::refuse && in_pass % per_group != 0) {
            CHECK(planned == refusal::partial_group);
          } else {
            CHECK(planned == executed_loop(passes{run}, data(in_pass, per_group), last).counts);
          }
        }
      }
    }
  }
}

TEST_CASE("P-025 updates per pass: 22 passes of 198171 microbatches, no policy's number is another's") {
  static_assert(updates_over(passes{22}, data(198'171, 96), last_group::keep) == counts(45'430, 27, 22 * 198'171));
  static_assert(updates_over(passes{22}, data(198'171, 96), last_group::carry) ==
                counts(45'414, 96, 96 * 45'414, 0, 18));
  static_assert(updates_over(passes{22}, data(198'171, 96), last_group::drop) ==
                counts(45'408, 96, 96 * 45'408, 22 * 27));
}

TEST_CASE("updates per pass: what the updates saw, in samples and in positions") {
  // 7 microbatches of 8 samples of 10 positions, over 2 replicas, 3 passes: with drop the seventh of each is not seen.
  constexpr microbatches kept = updates_over(passes{3}, data(7, 2), last_group::keep).value().in_all;
  constexpr microbatches seen = updates_over(passes{3}, data(7, 2), last_group::drop).value().in_all;
  static_assert(plan::effective_batch(samples{8}, kept, replicas{2}) == samples{336});
  static_assert(plan::effective_batch(samples{8}, seen, replicas{2}) == samples{288});
  static_assert(plan::positions_per_update(samples{8}, plan::length{10}, seen, replicas{2}) == positions{2880});
}

TEST_CASE("P-068 updates per pass: nothing goes below zero") {
  static_assert(updates_per_pass(data(3, 8), last_group::keep) == counts(1, 3, 3));
  static_assert(updates_per_pass(data(3, 8), last_group::drop) == counts(0, 0, 0, 3));
  static_assert(under_all([](last_group last) { return updates_per_pass(data(0, 8), last) == counts(0, 0, 0); }));
}

TEST_CASE("P-066 updates per pass: large numbers are exact or refused") {
  static_assert(updates_per_pass(data(most, 1), last_group::keep) == counts(most, 1, most));
  static_assert(updates_per_pass(data(most, most), last_group::keep) == counts(1, most, most));
  static_assert(updates_per_pass(data(most, 2), last_group::keep) == counts(most / 2 + 1, 1, most));
  static_assert(updates_over(passes{2}, data(most, 1), last_group::keep) == refusal::too_large);
  static_assert(updates_over(passes{2}, data(most, 2), last_group::carry) == refusal::too_large);
  static_assert(updates_over(passes{4}, data(most / 2, most), last_group::drop) == refusal::too_large);
}

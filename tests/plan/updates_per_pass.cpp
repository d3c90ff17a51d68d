// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/updates_per_pass.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <ostream>
#include <type_traits>

#include "executed_loop.hpp"

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::updates;
using plan::data_pass;
using plan::last_group;
using plan::passes;
using plan::refusal;
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

constexpr data_pass data(std::int64_t in_pass, std::int64_t per_group) {
  return {microbatches{in_pass}, microbatches{per_group}};
}

constexpr run_updates counts(std::int64_t total, std::int64_t in_last, std::int64_t dropped = 0,
                             std::int64_t carried = 0) {
  return {updates{total}, microbatches{in_last}, microbatches{dropped}, microbatches{carried}};
}

static_assert(!std::is_convertible_v<microbatches, updates>, "microbatches are no updates");
static_assert(!std::is_constructible_v<updates, microbatches>);
static_assert(std::is_nothrow_invocable_v<decltype(updates_over), passes, data_pass, last_group>);

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("P-014 updates per pass: the last group is planned with what it really contains") {
  CHECK(updates_per_pass(data(10, 4), last_group::keep) == counts(3, 2));
  CHECK(updates_per_pass(data(10, 4), last_group::pad) == counts(3, 2));
}

TEST_CASE("P-015 updates per pass: a group larger than the pass is kept, dropped or carried, never lost") {
  CHECK(updates_per_pass(data(3, 8), last_group::keep) == counts(1, 3));
  CHECK(updates_per_pass(data(3, 8), last_group::drop) == counts(0, 0, 3));
  CHECK(updates_per_pass(data(3, 8), last_group::carry) == counts(0, 0, 0, 3));
  CHECK(updates_per_pass(data(3, 8), last_group::refuse) == refusal::partial_group);
}

TEST_CASE("P-015 updates per pass: a group of 0 microbatches is refused under every policy") {
  for (last_group last : all) CHECK(updates_per_pass(data(3, 0), last) == refusal::empty_group);
}

TEST_CASE("P-016 updates per pass: leftovers of each pass are updated or dropped in it") {
  CHECK(updates_per_pass(data(120, 32), last_group::keep) == counts(4, 24));
  CHECK(updates_per_pass(data(120, 32), last_group::drop) == counts(3, 32, 24));
  CHECK(updates_over(passes{2}, data(120, 32), last_group::drop) == counts(6, 32, 48));
}

TEST_CASE("P-017 updates per pass: no policy adds an update to an exact split") {
  for (last_group last : all) CHECK(updates_per_pass(data(8, 4), last) == counts(2, 4));
}

TEST_CASE("P-018 updates per pass: three loader batches of four pieces are three groups of four") {
  CHECK(updates_per_pass({.in_pass = microbatches{4} * 3, .per_group = microbatches{4}}, last_group::keep) ==
        counts(3, 4));
}

TEST_CASE("P-020 updates per pass: 12 microbatches in groups of 4 advance a schedule by 3") {
  CHECK(updates_per_pass(data(12, 4), last_group::keep).value().total == updates{3});
}

TEST_CASE("P-024 updates per pass: ceiling, floor and carry-over of 24 passes") {
  CHECK(updates_over(passes{24}, data(7, 2), last_group::keep) == counts(96, 1));
  CHECK(updates_over(passes{24}, data(7, 2), last_group::pad) == counts(96, 1));
  CHECK(updates_over(passes{24}, data(7, 2), last_group::drop) == counts(72, 2, 24));
  CHECK(updates_over(passes{24}, data(7, 2), last_group::carry) == counts(84, 2));
  CHECK(updates_over(passes{24}, data(7, 2), last_group::refuse) == refusal::partial_group);
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
  CHECK(updates_over(passes{22}, data(198'171, 96), last_group::keep) == counts(45'430, 27));
  CHECK(updates_over(passes{22}, data(198'171, 96), last_group::carry) == counts(45'414, 96, 0, 18));
  CHECK(updates_over(passes{22}, data(198'171, 96), last_group::drop) == counts(45'408, 96, 22 * 27));
}

TEST_CASE("P-068 updates per pass: nothing goes below zero") {
  CHECK(updates_per_pass(data(3, 8), last_group::keep) == counts(1, 3));
  CHECK(updates_per_pass(data(3, 8), last_group::drop) == counts(0, 0, 3));
  for (last_group last : all) CHECK(updates_per_pass(data(0, 8), last) == counts(0, 0));
}

TEST_CASE("P-066 updates per pass: large numbers are exact or refused") {
  CHECK(updates_per_pass(data(most, 1), last_group::keep) == counts(most, 1));
  CHECK(updates_per_pass(data(most, most), last_group::keep) == counts(1, most));
  CHECK(updates_per_pass(data(most, 2), last_group::keep) == counts(most / 2 + 1, 1));
  CHECK(updates_over(passes{2}, data(most, 1), last_group::keep) == refusal::too_large);
  CHECK(updates_over(passes{2}, data(most, 2), last_group::carry) == refusal::too_large);
  CHECK(updates_over(passes{4}, data(most / 2, most), last_group::drop) == refusal::too_large);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/resume_after.hpp>

#include <doctest/doctest.h>

#include <cstddef>
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
using plan::resume_after;
using plan::resume_point;

namespace {

// [snippet resume_after]
constexpr auto point = resume_after(updates{2748}, {.in_pass = microbatches{27'484}, .per_group = microbatches{4}},
                                    plan::last_group::keep);
static_assert(point.value().finished == plan::passes{0});
static_assert(point.value().skip == microbatches{10'992});  // not 2748: an update is 4 microbatches
// [/snippet resume_after]

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

constexpr resume_point at(std::int64_t finished, std::int64_t skip) { return {passes{finished}, microbatches{skip}}; }

static_assert(!std::is_invocable_v<decltype(resume_after), microbatches, data_pass, last_group>);
static_assert(std::is_nothrow_invocable_v<decltype(resume_after), updates, data_pass, last_group>);

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("P-019 resume: groups begin at every multiple of A, not one off") {
  static_assert(resume_after(updates{1}, data(9, 4), last_group::drop) == at(0, 4));
  static_assert(resume_after(updates{2}, data(9, 4), last_group::keep) == at(0, 8));
  static_assert(resume_after(updates{3}, data(9, 4), last_group::keep) == at(1, 0));
}

TEST_CASE("P-026 resume: the position is in microbatches, not in updates") {
  static_assert(resume_after(updates{2748}, data(27'484, 4), last_group::keep) == at(0, 10'992));
  static_assert(under_all([](last_group last) { return resume_after(updates{500}, data(100, 4), last) == at(20, 0); }));
}

TEST_CASE("P-026 resume: each policy goes on elsewhere after 5 updates of a pass of 7 in groups of 2") {
  static_assert(resume_after(updates{5}, data(7, 2), last_group::keep) == at(1, 2));   // 2 2 2 1 | 2
  static_assert(resume_after(updates{5}, data(7, 2), last_group::pad) == at(1, 2));    // as keep
  static_assert(resume_after(updates{5}, data(7, 2), last_group::drop) == at(1, 4));   // 2 2 2 | 2 2
  static_assert(resume_after(updates{5}, data(7, 2), last_group::carry) == at(1, 3));  // 10 microbatches
  static_assert(resume_after(updates{5}, data(7, 2), last_group::refuse) == refusal::partial_group);
}

TEST_CASE("P-026 resume: the executed loop reads the next update's first microbatch there") {
  for (last_group last : all) {
    for (std::int64_t in_pass = 0; in_pass <= 13; ++in_pass) {
      for (std::int64_t per_group = 1; per_group <= 6; ++per_group) {
        if (last == last_group::refuse && in_pass % per_group != 0) continue;
        executed_loop const loop(passes{4}, data(in_pass, per_group), last);
        for (std::size_t done = 0; done < loop.starts.size(); ++done) {
          CAPTURE(static_cast<int>(last));
          CAPTURE(in_pass);
          CAPTURE(per_group);
          CAPTURE(done);
          CHECK(resume_after(updates{done}, data(in_pass, per_group), last) == loop.starts[done]);
        }
      }
    }
  }
}

TEST_CASE("resume: after no update a run starts at its start") {
  static_assert(under_all([](last_group last) { return resume_after(updates{}, data(8, 4), last) == at(0, 0); }));
  static_assert(resume_after(updates{}, data(0, 4), last_group::keep) == at(0, 0));
  static_assert(resume_after(updates{}, data(3, 8), last_group::drop) == at(0, 0));
}

TEST_CASE("resume: updates that the data cannot have given are refused") {
  static_assert(
      under_all([](last_group last) { return resume_after(updates{1}, data(0, 4), last) == refusal::never_reached; }));
  static_assert(resume_after(updates{1}, data(3, 8), last_group::drop) == refusal::never_reached);
  static_assert(resume_after(updates{1}, data(3, 8), last_group::carry) == at(2, 2));
  static_assert(resume_after(updates{1}, data(3, 0), last_group::keep) == refusal::empty_group);
}

TEST_CASE("resume: large numbers are exact or refused") {
  static_assert(resume_after(updates{most}, data(1, 1), last_group::keep) == at(most, 0));
  static_assert(resume_after(updates{most}, data(1, 1), last_group::carry) == at(most, 0));
  static_assert(resume_after(updates{most}, data(5, 2), last_group::carry) == refusal::too_large);
  static_assert(resume_after(updates{most}, data(most, 2), last_group::keep) == at(1, most - 1));
}

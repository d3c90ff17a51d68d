// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The helpers of the comparison, tested by numbers that can be checked by hand.
#include "support/oracle.hpp"
#include "support/random_layout.hpp"

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <type_traits>
#include <vector>

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double endless = std::numeric_limits<double>::infinity();
std::vector<oracle::precision> const one_view{{0x1p-53L, 0x1p-53L, 0}};

/// A microbatch of n samples, of one token each, with one view of gradients.
oracle::microbatch microbatch(std::int64_t n, std::vector<oracle::number> gradients, bool is_mean = true) {
  oracle::microbatch m;
  m.is_mean = is_mean;
  m.samples = n;
  m.tokens = n;
  m.weight = static_cast<double>(n) / 2;
  m.gradients.emplace_back(std::move(gradients));
  return m;
}

oracle::finalized finalize(oracle::settings const& s, std::vector<oracle::microbatch> const& group,
                           oracle::real padded = 1) {
  return oracle::finalize(s, one_view, group, padded);
}
double first(oracle::finalized const& g) { return static_cast<double>(g.gradients.at(0).value().at(0).value.real()); }

}  // namespace

TEST_CASE("the oracle divides the sum of all by the count of all") {
  std::vector const group{microbatch(512, {2}), microbatch(1536, {4})};
  CHECK(first(finalize({}, group)) == 3.5);  // a mean of means is 3
  CHECK(first(finalize({.sum_objective = true}, group)) == 3.5 * 2048);
  CHECK(first(finalize({}, {microbatch(512, {1024}, false), microbatch(1536, {4})})) == 3.5);
  CHECK(first(finalize({.normalization = oracle::unit::microbatch}, group)) == 3);
  CHECK(first(finalize({.normalization = oracle::unit::weight}, group)) == 3.5);
  CHECK(first(finalize({}, group, 2)) == 1.75);  // as if as many again had given nothing
}

TEST_CASE("the oracle leaves out what counts for nothing, a sum of sums excepted") {
  CHECK(first(finalize({}, {microbatch(0, {not_a_number}), microbatch(3, {4})})) == 4);
  CHECK(finalize({}, {microbatch(0, {not_a_number}), microbatch(0, {1}, false)}).empty);
  CHECK(first(finalize({.sum_objective = true}, {microbatch(0, {5}, false), microbatch(0, {not_a_number})})) == 5);
  CHECK_FALSE(finalize({}, {microbatch(1, {not_a_number}), microbatch(3, {4})}).finite);
  CHECK_FALSE(finalize({}, {microbatch(1, {{0, endless}})}).finite);
}

TEST_CASE("the oracle clips by a norm of any order, by value, and microbatch by microbatch") {
  auto const clip = [](double order, double bound, double epsilon = 0) {
    return oracle::settings{.clip = oracle::bound_on::norm, .bound = bound, .order = order, .epsilon = epsilon};
  };
  std::vector const group{microbatch(1, {3, -4})};
  CHECK(static_cast<double>(finalize(clip(2, 1), group).norm) == 5);
  CHECK(static_cast<double>(finalize(clip(1, 1), group).norm) == 7);
  CHECK(static_cast<double>(finalize(clip(endless, 1), group).norm) == 4);
  CHECK(static_cast<double>(finalize(clip(3, 1), group).norm) == doctest::Approx(std::cbrt(91.0)));
  CHECK(first(finalize(clip(2, 2.5), group)) == 1.5);
  CHECK(first(finalize(clip(2, 2.5, 5), group)) == 0.75);
  CHECK(first(finalize(clip(2, 6), group)) == 3);
  CHECK(first(finalize({.clip = oracle::bound_on::value, .bound = 2}, group)) == 2);
  CHECK(
      std::abs(
          finalize({.clip = oracle::bound_on::value, .bound = 1}, {microbatch(1, {{3, 4}})}).gradients[0]->at(0).value -
          oracle::number(0.6L, 0.8L)) < 1e-15L);

  oracle::settings each = clip(2, 1);
  each.clip_microbatch = true;
  CHECK(first(finalize(each, {microbatch(1, {10}), microbatch(3, {0.5})})) == 0.625);  // (1 * 1 + 3 * 0.5) / 4
  CHECK(first(finalize(each, {microbatch(2, {20}, false), microbatch(2, {0.5})})) == 0.75);
}

TEST_CASE("the oracle's first update is not dampened, and an untouched view has none") {
  oracle::settings const s{.learning_rate = 1, .has_momentum = true, .factor = 0.5, .dampening = 0.25};
  oracle::model model({one_view[0], one_view[0]}, {{0}, {0}});
  auto touched = microbatch(1, {8});
  auto both = touched;
  both.gradients.push_back(both.gradients[0]);
  touched.gradients.emplace_back();
  auto const update = [&](oracle::microbatch const& m) { model.update(s, oracle::finalize(s, model.views(), {m})); };
  update(touched);
  update(both);
  CHECK(model.parameters(0)[0].value == oracle::number(-18));
  CHECK(model.parameters(1)[0].value == oracle::number(-8));
}

TEST_CASE("the oracle's bound holds for a sum in float, and is not ten times what that can lose") {
  std::vector<oracle::precision> const in_float{{0x1p-24L, 0x1p-24L, 0}};
  dice roll(1);
  oracle::real worst = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<oracle::microbatch> group;
    float sum = 0;
    for (int m = 0; m < 8; ++m) {
      auto const g = static_cast<float>(roll.real(0, 1));
      sum += g;
      group.push_back(microbatch(1, {g}));
    }
    oracle::estimate const G = (*oracle::finalize({}, in_float, group).gradients[0])[0];
    oracle::real const off = std::fabs(sum / 8 - G.value.real());
    CHECK(off <= G.error);
    worst = std::max(worst, off / G.error);
  }
  CHECK(worst > 0.1L);
}

TEST_CASE_TEMPLATE("random placements have a place for every index, and are where Kokkos looks", Layout,
                   Kokkos::LayoutLeft, Kokkos::LayoutRight, Kokkos::LayoutStride) {
  dice roll(2);
  bool gaps = false, none = false;
  for (int trial = 0; trial < 500; ++trial) {
    placement const where = random_placement<Layout>(roll, random_extents(roll, 3, 40));
    auto const offsets = where.offsets();
    CHECK(where.size() <= 40);
    CHECK(offsets.size() == where.size());
    CHECK(std::set<std::size_t>(offsets.begin(), offsets.end()).size() == offsets.size());
    CHECK((offsets.empty() || *std::max_element(offsets.begin(), offsets.end()) + 1 == where.span()));
    gaps = gaps || where.span() > where.size();
    none = none || where.size() == 0;

    std::vector<int> memory(where.span() + 1);
    using view_type = Kokkos::View<int***, Layout, Kokkos::HostSpace>;
    auto const view = view_at<view_type>(memory.data(), where);
    std::size_t n = 0, misplaced = 0;
    for (std::size_t i = 0; i < where.extents[0]; ++i)
      for (std::size_t j = 0; j < where.extents[1]; ++j)
        for (std::size_t k = 0; k < where.extents[2]; ++k)
          misplaced += &view(i, j, k) == memory.data() + offsets[n++] ? 0 : 1;
    CHECK(misplaced == 0);
  }
  CHECK(none);
  CHECK(gaps == std::is_same_v<Layout, Kokkos::LayoutStride>);
}

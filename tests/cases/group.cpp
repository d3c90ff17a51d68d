// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a group begins and ends: P-018, P-019, P-065, P-087, P-089, P-090, P-092.
#include "support/host.hpp"

#include <accrue/accumulator.hpp>
#include <accrue/finalize/last_group.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/update/sgd.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <functional>
#include <vector>

using accrue::every;
using accrue::mean_gradient;
using accrue::microbatches;
using accrue::outcome;
using accrue::updates;
using support::make_view;
using support::taken;
using support::values;

namespace {

template <class T>
auto in_groups_of(int per_group, Kokkos::View<T*> theta) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_microbatch{}, every{per_group}, accrue::keep_last{},
                             accrue::sgd{.learning_rate = 1.0});
}

template <class Group, class T>
void feed(Group& group, T gradient) {
  group.accumulate(mean_gradient{make_view<T>({gradient})});
}

/// Notes after which microbatch, counted from 1, a group closes, and how many it holds.
struct boundary_log {
  int arrived = 0;
  std::vector<int> closed_after, inside;
  void microbatch_accumulated(accrue::group_counts const&) { ++arrived; }
  void group_closing(accrue::group_counts const& held) {
    closed_after.push_back(arrived);
    inside.push_back(static_cast<int>(held.microbatches.value()));
  }
};

}  // namespace

TEST_CASE("P-018 the last batch of a loader is not the last microbatch") {
  Kokkos::View<float*> theta("theta", 1);
  auto group = in_groups_of(4, theta);
  std::vector<float> applied;
  for (int batch = 1; batch <= 3; ++batch) {
    for (int piece = 1; piece <= 4; ++piece) {
      feed(group, batch == 3 ? float(piece) : 1.0f);
      if (group.full()) group.update(), applied.push_back(taken(theta)[0]);
    }
  }
  CHECK(group.end_of_data() == outcome::empty);     // said after the last piece; it closes nothing more
  CHECK(applied == std::vector<float>{1, 1, 2.5});  // an update for each piece of the last batch: 6 updates
}

TEST_CASE("P-019 a group closes after its A-th microbatch, and holds A") {
  Kokkos::View<float*> theta("theta", 1);
  auto group = in_groups_of(4, theta);
  boundary_log log;
  group.observe(std::ref(log));
  for (int i = 0; i < 8; ++i) {
    feed(group, 1.0f);
    if (group.full()) group.update();
  }
  CHECK(log.closed_after == std::vector<int>{4, 8});  // off by one: after 1 and 5, or after 3 and 7
  CHECK(log.inside == std::vector<int>{4, 4});
}

TEST_CASE("P-019 a full group takes no further microbatch") {
  Kokkos::View<float*> theta("theta", 1);
  auto group = in_groups_of(1, theta);
  feed(group, 3.0f);
  CHECK_THROWS_AS(feed(group, 5.0f), accrue::error);
  CHECK(group.ledger().microbatches() == microbatches{1});
  group.update();
  CHECK(taken(theta) == std::vector<float>{3});  // added all the same: 4 or 8
}

TEST_CASE("P-065 the number of microbatches may change while training goes on") {
  Kokkos::View<float*> theta("theta", 1);
  auto group = in_groups_of(1, theta);
  boundary_log log;
  group.observe(std::ref(log));
  std::vector<float> applied;
  int const in_force[] = {1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4};
  for (int i = 1; i <= 14; ++i) {
    group.change_boundary(every{in_force[i - 1]});
    feed(group, float(i));
    if (group.full()) group.update(), applied.push_back(taken(theta)[0]);
  }
  CHECK(log.closed_after == std::vector<int>{1, 2, 4, 7, 11});  // by remainders: 1, 2, 4, 6, 9, 12
  CHECK(log.inside == std::vector<int>{1, 1, 2, 3, 4});
  CHECK(applied == std::vector<float>{1, 2, 3.5, 6, 9.5});
  CHECK(group.held() == microbatches{3});
}

TEST_CASE("P-065 a smaller number is in force at once, and divides by what is there") {
  Kokkos::View<float*> theta("theta", 1);
  auto group = in_groups_of(4, theta);
  feed(group, 1.0f);
  feed(group, 3.0f);
  CHECK_FALSE(group.full());
  group.change_boundary(every{2});
  REQUIRE(group.full());
  group.update();
  CHECK(taken(theta) == std::vector<float>{2});  // divided by the old number: 1

  feed(group, 5.0f);
  feed(group, 7.0f);
  REQUIRE(group.full());
  group.update();
  CHECK(taken(theta) == std::vector<float>{6});  // one group of four under the new number: 8
}

TEST_CASE_TEMPLATE("P-087 measuring changes nothing", T, float, double) {
  Kokkos::View<T*> theta("theta", 2);
  auto group = in_groups_of(4, theta);
  group.accumulate(mean_gradient{make_view<T>({3, 4})});
  for (int reading = 0; reading < 3; ++reading) {
    accrue::gradient_summary const seen = group.measure();
    CHECK(seen.norm == 5.0);  // accumulated by the reading: 7.07 at the second
    CHECK(seen.largest == 4.0);
    CHECK(seen.finite);
    CHECK(values(group.template snapshot<0>()) == std::vector<T>{3, 4});  // sum 7
  }
  group.accumulate(mean_gradient{accrue::no_gradient}, accrue::samples{0});  // weighs nothing
  CHECK(group.measure().norm == 5.0);
  group.accumulate(mean_gradient{make_view<T>({0, 0})});
  CHECK(group.measure().norm == 2.5);  // of the mean over two microbatches
  CHECK(group.measure().largest == 2.0);
  group.update();
  CHECK(taken(theta) == std::vector<T>{1.5, 2});
}

TEST_CASE_TEMPLATE("P-089 nothing is cleared inside a group", T, float, double) {
  Kokkos::View<T*> theta("theta", 1);
  auto group = in_groups_of(4, theta);
  for (T const gradient : {T(1), T(2), T(3), T(6)}) feed(group, gradient);
  group.update();
  CHECK(taken(theta) == std::vector<T>{3});  // the last one only: 1.5 or 6
}

TEST_CASE_TEMPLATE("P-090 nothing is left between groups", T, float, double) {
  Kokkos::View<T*> theta("theta", 1);
  auto group = in_groups_of(2, theta);
  for (T const gradient : {T(1), T(2)}) {
    feed(group, gradient);
    feed(group, gradient);
    group.update();
    CHECK(taken(theta) == std::vector<T>{gradient});  // with the first group in the second: 3
  }
}

TEST_CASE_TEMPLATE("P-092 parameters are constant inside a group", T, float, double) {
  Kokkos::View<T*> theta("theta", 1);
  auto group = in_groups_of(4, theta);
  std::vector<T> seen;
  for (int i = 0; i < 4; ++i) {
    feed(group, T(1));
    if (group.full()) group.update();
    seen.push_back(values(theta)[0]);
  }
  CHECK(seen == std::vector<T>{0, 0, 0, -1});  // an update for each microbatch: -1, -2, -3, -4
  CHECK(group.ledger().applied() == updates{1});
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The group that the end of the data leaves short: P-014, P-015, P-016, P-024.
#include "support/host.hpp"

#include <accrue/accumulator.hpp>
#include <accrue/finalize/last_group.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/plan/updates_per_pass.hpp>
#include <accrue/update/sgd.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <optional>
#include <vector>

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::outcome;
using accrue::updates;
using support::taken;

namespace {

template <class LastGroup, class T>
auto in_groups_of(int per_group, Kokkos::View<T*> theta) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_microbatch{}, accrue::every{per_group}, LastGroup{},
                             accrue::sgd{.learning_rate = 1.0});
}

/// Microbatches of equal weight and one element, and every gradient that was applied.
template <class LastGroup, class T = float>
struct training {
  Kokkos::View<T*> theta{"theta", 1};
  Kokkos::View<T*> gradient{"gradient", 1};
  decltype(in_groups_of<LastGroup>(1, theta)) group;
  std::vector<T> applied;

  explicit training(int per_group) : group(in_groups_of<LastGroup>(per_group, theta)) {}

  void feed(T value) {
    Kokkos::deep_copy(gradient, value);
    group.accumulate(accrue::mean_gradient{gradient});
    if (group.full()) note(group.update().result());
  }
  outcome end_of_data() { return note(group.end_of_data().result()); }

 private:
  outcome note(outcome o) {
    if (o == outcome::applied) applied.push_back(taken(theta)[0]);
    return o;
  }
};

template <class LastGroup>
constexpr auto planned_as = plan::last_group::keep;
template <>
constexpr auto planned_as<accrue::drop_last> = plan::last_group::drop;
template <>
constexpr auto planned_as<accrue::carry_last> = plan::last_group::carry;
template <>
constexpr auto planned_as<accrue::pad_last> = plan::last_group::pad;
template <>
constexpr auto planned_as<accrue::refuse_last> = plan::last_group::refuse;

/// What an accumulator does with a run, in the words of the plan; nothing where it refuses.
template <class LastGroup>
std::optional<plan::run_updates> executed(int passes, int in_pass, int per_group) {
  training<LastGroup> run(per_group);
  for (int pass = 0; pass < passes; ++pass) {
    for (int i = 0; i < in_pass; ++i) run.feed(1.0f);
    try {
      run.end_of_data();
    } catch (accrue::error const&) {
      return std::nullopt;
    }
  }
  accrue::ledger const& book = run.group.ledger();
  plan::run_updates counts{
      .total = book.applied(), .dropped = book.dropped_microbatches(), .carried = run.group.held()};
  std::int64_t in_all = 0;
  for (accrue::record const& r : book.records())
    if (r.result == outcome::applied) {
      counts.in_last = r.counts.microbatches;
      in_all += r.counts.microbatches.value();
    }
  counts.in_all = microbatches{in_all};
  return counts;
}

}  // namespace

TEST_CASE_TEMPLATE("P-014 the last group is divided by what it really contains", T, float, double) {
  training<accrue::keep_last, T> run(4);
  for (int i = 1; i <= 10; ++i) run.feed(T(i));
  CHECK(run.end_of_data() == outcome::applied);
  CHECK(run.applied == std::vector<T>{2.5, 6.5, 9.5});  // divided by 4: 4.75 in the end
}

TEST_CASE("P-014 only pad_last divides by microbatches that were not there") {
  training<accrue::pad_last> run(4);
  for (int i = 1; i <= 10; ++i) run.feed(float(i));
  CHECK(run.end_of_data() == outcome::applied);
  CHECK(run.applied == std::vector<float>{2.5, 6.5, 4.75});
}

TEST_CASE_TEMPLATE("P-015 a group larger than the data is one update of what is there", T, float, double) {
  training<accrue::keep_last, T> run(8);
  for (T const gradient : {T(3), T(6), T(9)}) run.feed(gradient);
  CHECK(run.applied.empty());
  CHECK(run.end_of_data() == outcome::applied);
  CHECK(run.applied == std::vector<T>{6});  // divided by 8: 2.25
}

TEST_CASE("P-015 a group larger than the data is dropped on the record, and leaves nothing behind") {
  training<accrue::drop_last> run(8);
  for (float const gradient : {3.0f, 6.0f, 9.0f}) run.feed(gradient);
  CHECK(run.end_of_data() == outcome::dropped_last);
  CHECK(run.applied.empty());
  CHECK(run.group.ledger().attempted() == updates{0});
  CHECK(run.group.ledger().dropped_microbatches() == microbatches{3});
  CHECK(run.group.held() == microbatches{0});

  for (int i = 0; i < 8; ++i) run.feed(1.0f);
  CHECK(run.applied == std::vector<float>{1});  // with the sum of 18 still in the buffer: 3.25
}

TEST_CASE("P-015 a group holds at least one microbatch") {
  CHECK_THROWS_AS(accrue::every{0}, accrue::error);  // not taken as 1 in silence
  CHECK_THROWS_AS(accrue::every{-1}, accrue::error);
  CHECK_THROWS_AS(training<accrue::keep_last>{0}, accrue::error);
}

TEST_CASE("P-016 kept leftovers are updated in their own epoch, with their own number") {
  training<accrue::keep_last> run(32);
  for (int i = 0; i < 120; ++i) run.feed(100.0f);
  run.end_of_data();
  CHECK(run.applied == std::vector<float>{100, 100, 100, 100});  // the fourth of 24; divided by 32: 75
  for (int i = 0; i < 32; ++i) run.feed(1.0f);
  CHECK(run.applied.back() == 1.0f);  // with leftovers: 75.25 or 76
}

TEST_CASE("P-016 dropped leftovers do not enter the next epoch") {
  training<accrue::drop_last> run(32);
  for (int i = 0; i < 120; ++i) run.feed(100.0f);
  run.end_of_data();
  CHECK(run.applied == std::vector<float>{100, 100, 100});
  CHECK(run.group.ledger().dropped_microbatches() == microbatches{24});
  for (int i = 0; i < 32; ++i) run.feed(1.0f);
  CHECK(run.applied.size() == 4);
  CHECK(run.applied.back() == 1.0f);  // with leftovers: 75.25 or 76
}

TEST_CASE("P-016 carried leftovers are completed by the next epoch, and refused ones wait for an answer") {
  training<accrue::carry_last> carrying(4);
  for (float const gradient : {100.0f, 100.0f, 100.0f}) carrying.feed(gradient);
  CHECK(carrying.end_of_data() == outcome::carried);
  CHECK(carrying.group.ledger().times_carried() == 1);
  carrying.feed(4.0f);
  CHECK(carrying.applied == std::vector<float>{76});

  training<accrue::refuse_last> refusing(4);
  for (float const gradient : {1.0f, 2.0f, 3.0f}) refusing.feed(gradient);
  CHECK_THROWS_AS(refusing.end_of_data(), accrue::error);
  CHECK(refusing.group.held() == microbatches{3});
  refusing.feed(6.0f);
  CHECK(refusing.applied == std::vector<float>{3});
}

TEST_CASE_TEMPLATE("P-024 the plan and the executed loop agree", LastGroup, accrue::keep_last, accrue::drop_last,
                   accrue::carry_last, accrue::pad_last, accrue::refuse_last) {
  auto const agree = [](int passes, int in_pass, int per_group) {
    CAPTURE(passes);
    CAPTURE(in_pass);
    CAPTURE(per_group);
    auto const planned = plan::updates_over(plan::passes{passes}, {microbatches{in_pass}, microbatches{per_group}},
                                            planned_as<LastGroup>);
    auto const done = executed<LastGroup>(passes, in_pass, per_group);
    if (done) {
      CHECK(planned == *done);
    } else {
      CHECK(planned == plan::refusal::partial_group);
    }
  };
  agree(24, 7, 2);  // 96, 72 or 84 updates: one number for another ends the training after 18 passes
  for (int const per_group : {1, 3, 5})
    for (int in_pass = 0; in_pass <= 6; ++in_pass) agree(2, in_pass, per_group);
}

TEST_CASE("P-024 updates of 24 passes: ceiling, floor and carry-over") {
  CHECK(executed<accrue::keep_last>(24, 7, 2)->total == updates{96});
  CHECK(executed<accrue::drop_last>(24, 7, 2)->total == updates{72});
  CHECK(executed<accrue::carry_last>(24, 7, 2)->total == updates{84});
}

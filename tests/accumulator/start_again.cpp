// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A group that is started again is as if nothing of it had come.
#include <accrue/accrue.hpp>
#include <accrue/restart.hpp>

#include "support/host.hpp"

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace {

using accrue::mean_gradient;
using accrue::outcome;
using accrue::samples;
using array = Kokkos::View<double*>;
using support::values;

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

array vector_of(std::vector<double> const& elements) { return support::make_view<double>(elements); }

std::string text_of(auto const& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace

TEST_CASE_TEMPLATE("start_again: sums, counts and losses of the group are those that come afterwards", Summation,
                   accrue::widened<>, accrue::compensated, accrue::order_independent) {
  array const theta("theta", 2), loss("loss", 1);
  Kokkos::deep_copy(loss, 100.0);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, Summation{}, accrue::every{2},
                            accrue::sgd{.learning_rate = 1.0});
  group.accumulate(mean_gradient{vector_of({1e30, undefined})}, samples{3},
                   accrue::mean_loss{Kokkos::subview(loss, 0)});
  group.accumulate(mean_gradient{vector_of({1.0, 1.0})}, samples{0});
  REQUIRE(group.full());
  group.start_again();
  CHECK(group.held() == accrue::microbatches{0});
  CHECK(group.update() == outcome::empty);

  group.accumulate(mean_gradient{vector_of({2.0, 4.0})}, samples{1}, accrue::mean_loss{5.0});
  group.accumulate(mean_gradient{vector_of({6.0, 8.0})}, samples{3}, accrue::mean_loss{9.0});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector{-5.0, -7.0});
  accrue::ledger const& book = group.ledger();
  CHECK(book.records().back().loss == 8.0);
  CHECK(book.records().back().number == 1);
  CHECK(book.samples() == samples{4});
  CHECK(book.microbatches() == accrue::microbatches{2});
  CHECK(book.ignored_microbatches() == accrue::microbatches{0});
  CHECK(book.dropped_groups() == 0);
  CHECK(book.groups_started_again() == 1);
  CHECK(book.started_again().microbatches == accrue::microbatches{2});
  CHECK(book.started_again().samples == samples{3});
  CHECK(text_of(book).ends_with(
      "; groups closed 1, empty 0, dropped 0 (0 microbatches), started again 1 (2 microbatches)"));
}

TEST_CASE("start_again: a group that holds nothing is not started again") {
  array const theta("theta", 1);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::sgd{});
  group.start_again();
  CHECK(group.ledger().groups_started_again() == 0);
  CHECK(text_of(group.ledger()).find("started again") == std::string::npos);
}

TEST_CASE("start_again: parameters that only the lost part touched are passed over, contributions that wait are gone") {
  array const a("a", 1), b("b", 1);
  accrue::accumulator group(accrue::parameters(a, b), accrue::per_sample{}, accrue::gather<3>{},
                            accrue::momentum{.learning_rate = 1.0, .factor = 0.5});
  group.accumulate(mean_gradient{vector_of({1.0}), vector_of({1.0})}, samples{1});
  group.update();
  group.accumulate(mean_gradient{vector_of({9.0}), vector_of({9.0})}, samples{1});
  group.start_again();
  group.accumulate(mean_gradient{vector_of({2.0}), accrue::no_gradient}, samples{1});
  group.update();
  CHECK(values(a) == std::vector{-1.0 - 2.5});
  CHECK(values(b) == std::vector{-1.0});  // momentum alone would have moved it
}

TEST_CASE("start_again: the dynamic scale stays as it is, and may be changed until the next microbatch") {
  array const theta("theta", 1);
  accrue::dynamic_scale const scaling{.initial = 8.0f, .growth_interval = 1};
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, scaling,
                            accrue::sgd{.learning_rate = 1.0});
  group.accumulate(mean_gradient{vector_of({undefined})}, samples{1});
  group.start_again();
  CHECK(group.loss_scale().value() == 8.0f);
  group.change_loss_scale(scaling);  // refused inside of a group
  group.accumulate(mean_gradient{vector_of({8.0})}, samples{1});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector{-1.0});
  CHECK(group.loss_scale().value() == 16.0f);
}

TEST_CASE("start_again: what was rejected in it was never there, what was rejected before is") {
  array const theta("theta", 1);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::reject_microbatch{},
                            accrue::sgd{.learning_rate = 1.0});
  auto const feed = [&](double gradient, std::int64_t id) {
    std::vector<std::int64_t> const ids{id, id + 1};
    group.accumulate(mean_gradient{vector_of({gradient})}, samples{2}, accrue::sample_ids(ids),
                     accrue::mean_loss{gradient});
  };
  feed(undefined, 10);
  feed(1.0, 20);
  group.update();
  feed(undefined, 30);
  feed(undefined, 40);
  feed(5.0, 50);
  SUBCASE("nobody has looked") {}
  SUBCASE("somebody has looked") { CHECK(group.ledger().rejections().size() == 3); }
  group.start_again();
  CHECK(group.ledger().rejected_microbatches() == accrue::microbatches{1});
  CHECK(group.ledger().samples() == samples{4});
  feed(3.0, 60);
  feed(undefined, 70);
  feed(5.0, 80);
  group.update();
  accrue::ledger const& book = group.ledger();
  CHECK(values(theta) == std::vector{-1.0 - 4.0});
  CHECK(book.rejected().samples == samples{4});
  REQUIRE(book.rejections().size() == 2);
  CHECK(book.rejections()[0].sample_ids == std::vector<std::int64_t>{10, 11});
  CHECK(book.rejections()[1].sample_ids == std::vector<std::int64_t>{70, 71});
  CHECK(book.rejections()[1].microbatch == 4);
  CHECK(book.rejections()[1].group == 2);
  CHECK(book.records().back().rejected.microbatches == accrue::microbatches{1});
  CHECK(book.records().back().loss == 4.0);
  CHECK(book.started_again().microbatches == accrue::microbatches{3});
}

TEST_CASE("start_again: each term begins anew") {
  struct main_loss {};
  struct extra_loss {};
  array const theta("theta", 1);
  accrue::accumulator group(
      accrue::parameters(theta),
      accrue::terms{accrue::term<main_loss>(accrue::per_token{}), accrue::term<extra_loss>(accrue::per_microbatch{})},
      accrue::sgd{.learning_rate = 1.0});
  auto const feed = [&](double first, double second) {
    group.accumulate(accrue::of<main_loss>(mean_gradient{vector_of({first})}, accrue::mean_loss{first}),
                     accrue::of<extra_loss>(mean_gradient{vector_of({second})}, accrue::mean_loss{second}),
                     accrue::tokens{2});
  };
  feed(100.0, 1000.0);
  group.start_again();
  feed(2.0, 10.0);
  feed(4.0, 30.0);
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector{-3.0 - 20.0});
  CHECK(group.ledger().records().back().loss == 23.0);
  CHECK(group.ledger().records().back().term_weights[0] == 4.0);
}

TEST_CASE("start_again: observers learn what is taken back, and the state goes on from there after a restart") {
  struct net_samples {
    std::int64_t all = 0, last = 0;
    void microbatch_accumulated(accrue::group_counts const& held) {
      all += held.samples.value() - last, last = held.samples.value();
    }
    void group_started_again(accrue::group_counts const& held) { all -= held.samples.value(), last = 0; }
  };
  array const theta("theta", 1);
  net_samples seen;
  auto const make = [](array const& parameters) {
    return accrue::accumulator(accrue::parameters(parameters), accrue::per_sample{}, accrue::sgd{.learning_rate = 1.0});
  };
  auto group = make(theta);
  group.observe(std::ref(seen));
  group.accumulate(mean_gradient{vector_of({7.0})}, samples{3});
  group.accumulate(mean_gradient{vector_of({7.0})}, samples{4});
  group.start_again();
  CHECK(seen.all == 0);
  group.accumulate(mean_gradient{vector_of({1.0})}, samples{2});
  CHECK(seen.all == 2);

  std::stringstream file;
  accrue::save(group, file);
  array const other_theta("theta", 1);
  auto other = make(other_theta);
  accrue::load(other, file);
  other.start_again();
  other.accumulate(mean_gradient{vector_of({5.0})}, samples{2});
  other.update();
  CHECK(values(other_theta) == std::vector{-5.0});
  CHECK(other.ledger().groups_started_again() == 2);
  CHECK(other.ledger().started_again().samples == samples{9});
  CHECK(other.ledger().samples() == samples{2});
}

TEST_CASE("start_again: sums that lie in a gradient that was given away are those that come afterwards") {
  array const theta("theta", 1);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::sgd{.learning_rate = 1.0});
  auto spare = group.adopt(mean_gradient{vector_of({9.0})}, samples{3});
  group.start_again();
  auto given = mean_gradient{vector_of({2.0})};
  group.adopt(std::move(given), samples{1});
  group.accumulate(mean_gradient{vector_of({4.0})}, samples{1});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector{-3.0});
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Microbatches and groups that weigh nothing: P-010, P-011, P-017, P-037.
#include "support/host.hpp"

#include <accrue/accumulator.hpp>
#include <accrue/finalize/last_group.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/finalize/objective.hpp>
#include <accrue/update/sgd.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <vector>

using accrue::mean_gradient;
using accrue::microbatches;
using accrue::outcome;
using accrue::sum_gradient;
using accrue::sum_loss;
using accrue::tokens;
using accrue::updates;
using support::make_view;
using support::not_a_number;
using support::taken;

namespace {

template <class Normalization, class T>
auto in_groups_of(int per_group, Kokkos::View<T*> theta) {
  return accrue::accumulator(accrue::parameters(theta), Normalization{}, accrue::every{per_group}, accrue::keep_last{},
                             accrue::sgd{.learning_rate = 1.0});
}

}  // namespace

TEST_CASE_TEMPLATE("P-010 a microbatch without any supervised token weighs nothing", T, float, double) {
  Kokkos::View<T*> theta("theta", 1);
  auto group = in_groups_of<accrue::per_token>(2, theta);
  group.accumulate(sum_gradient{make_view<T>({8})}, tokens{4}, sum_loss{12.0});
  group.accumulate(sum_gradient{make_view<T>({0})}, tokens{0}, sum_loss{0.0});
  REQUIRE(group.full());
  CHECK(group.update() == outcome::applied);

  CHECK(taken(theta) == std::vector<T>{2});  // divided by A: 4 with a summed, 1 with a mean gradient
  CHECK(group.ledger().records().back().loss == 3.0);
  CHECK(group.ledger().microbatches() == microbatches{2});
  CHECK(group.ledger().ignored_microbatches() == microbatches{1});
  CHECK(group.ledger().tokens() == tokens{4});
  CHECK(group.ledger().applied() == updates{1});
}

TEST_CASE_TEMPLATE("P-010 the mean of no tokens is 0/0, and is not looked at", Normalization, accrue::per_token,
                   accrue::per_microbatch) {
  Kokkos::View<float*> theta("theta", 1);
  auto group = in_groups_of<Normalization>(2, theta);
  group.accumulate(mean_gradient{make_view<float>({not_a_number<float>})}, tokens{0},
                   accrue::mean_loss{not_a_number<double>});
  group.accumulate(mean_gradient{make_view<float>({2})}, tokens{4}, accrue::mean_loss{3.0});
  CHECK(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{2});  // added: NaN; with A as denominator: 1
  CHECK(group.ledger().records().back().loss == 3.0);
}

TEST_CASE("P-010 the mean loss of no tokens is not looked at where a sum of gradients is always added") {
  Kokkos::View<float*> theta("theta", 1);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sum_objective{},
                            accrue::sgd{.learning_rate = 1.0});
  group.accumulate(sum_gradient{make_view<float>({2})}, tokens{4}, accrue::mean_loss{2.0});
  group.accumulate(sum_gradient{make_view<float>({3})}, tokens{0}, accrue::mean_loss{not_a_number<double>});
  CHECK(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{5});
  CHECK(group.ledger().records().back().loss == 8.0);  // 0 * NaN: NaN

  Kokkos::View<double> const loss("loss");
  Kokkos::deep_copy(loss, not_a_number<double>);
  group.accumulate(sum_gradient{make_view<float>({3})}, tokens{0}, accrue::mean_loss{loss});
  group.accumulate(sum_gradient{make_view<float>({2})}, tokens{4}, accrue::mean_loss{2.0});
  CHECK(group.update() == outcome::applied);
  CHECK(group.ledger().records().back().loss == 8.0);
}

TEST_CASE_TEMPLATE("P-011 a group without any supervised token is empty, and changes nothing", T, float, double) {
  auto const theta = make_view<T>({0.5});
  auto group = in_groups_of<accrue::per_token>(2, theta);
  for (T const gradient : {T(0), not_a_number<T>}) {
    CAPTURE(gradient);
    for (int i = 0; i < 2; ++i) group.accumulate(mean_gradient{make_view<T>({gradient})}, tokens{0});
    REQUIRE(group.full());
    CHECK(group.update() == outcome::empty);  // an applied update of 0 would advance a schedule
    CHECK(support::values(theta) == std::vector<T>{0.5});
  }

  group.accumulate(sum_gradient{make_view<T>({4})}, tokens{2});
  group.update();
  CHECK(support::values(theta) == std::vector<T>{-1.5});  // 4/2 = 2 were subtracted
  accrue::ledger const& book = group.ledger();
  CHECK(book.tokens() == tokens{2});
  CHECK(book.applied() == updates{1});
  CHECK(book.attempted() == updates{1});
  CHECK(book.skipped() == updates{0});  // empty is not an overflow
  CHECK(book.empty_groups() == 2);
}

TEST_CASE("P-017 an exact split has no extra empty update") {
  Kokkos::View<float*> theta("theta", 1);
  auto group = in_groups_of<accrue::per_microbatch>(4, theta);
  for (int i = 0; i < 8; ++i) {
    group.accumulate(mean_gradient{make_view<float>({1})});
    if (group.full()) group.update();
  }
  taken(theta);
  for (int flush = 0; flush < 2; ++flush) {
    CHECK(group.end_of_data() == outcome::empty);
    CHECK(taken(theta) == std::vector<float>{0});
    CHECK(group.ledger().attempted() == updates{2});  // with an update of nothing: 3
    CHECK(group.ledger().applied() == updates{2});
    CHECK(group.ledger().groups() == 2);
  }
}

TEST_CASE_TEMPLATE("P-037 a group in which no parameter got a gradient is empty", T, float, double) {
  Kokkos::View<T*> theta("theta", 1);
  auto group = in_groups_of<accrue::per_microbatch>(2, theta);
  group.accumulate(mean_gradient{});
  group.accumulate(mean_gradient{accrue::no_gradient});
  REQUIRE(group.full());
  CHECK(group.update() == outcome::empty);
  CHECK(taken(theta) == std::vector<T>{0});

  for (int i = 0; i < 2; ++i) group.accumulate(mean_gradient{make_view<T>({1})});
  CHECK(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<T>{1});
  CHECK(group.ledger().empty_groups() == 1);
  CHECK(group.ledger().attempted() == updates{1});
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a group's gradient and loss are divided by: P-001, P-002, P-004 to P-009, P-027.
#include "support/host.hpp"

#include <accrue/accumulator.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/finalize/objective.hpp>
#include <accrue/update/sgd.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <numeric>
#include <vector>

using accrue::mean_gradient;
using accrue::mean_loss;
using accrue::samples;
using accrue::sum_gradient;
using accrue::sum_loss;
using accrue::tokens;
using support::about;
using support::make_view;
using support::taken;

namespace {

/// Divides by the weight of a group that the test closes; an update takes the gradient itself from the parameters.
template <class Normalization, class T>
auto mean_over(Kokkos::View<T*> theta) {
  return accrue::accumulator(accrue::parameters(theta), Normalization{}, accrue::sgd{.learning_rate = 1.0});
}

template <class Group>
double last_loss(Group& group) {
  return group.ledger().records().back().loss.value();
}

/// What a user's model computes of a sample or of a token. The gradient is as large as the loss.
using values_of_microbatch = std::vector<double>;

double sum_of(values_of_microbatch const& values) { return std::accumulate(values.begin(), values.end(), 0.0); }
double mean_of(values_of_microbatch const& values) { return sum_of(values) / static_cast<double>(values.size()); }

}  // namespace

TEST_CASE_TEMPLATE("P-001 a token-weighted mean, not a mean of means", T, float, double) {
  Kokkos::View<T*> theta("theta", 2);
  auto group = mean_over<accrue::per_token>(theta);
  group.accumulate(mean_gradient{make_view<T>({T(11), T(0)})}, tokens{10}, mean_loss{4.0});
  group.accumulate(mean_gradient{make_view<T>({T(0), T(1.1)})}, tokens{100}, mean_loss{2.0});
  REQUIRE(group.update() == accrue::outcome::applied);

  auto const gradient = taken(theta);  // a mean of means: 5.5 and 0.55
  CHECK(gradient[0] == T(1));
  CHECK(gradient[1] == about<T>(1.0));
  CHECK(last_loss(group) == about<double>(240.0 / 110.0));  // a mean of means: 3
}

TEST_CASE_TEMPLATE("P-002 what is divided by the weight is not divided by the microbatches as well", T, float, double) {
  Kokkos::View<T*> theta("theta", 1);
  auto group = mean_over<accrue::per_token>(theta);
  for (int i = 0; i < 4; ++i) group.accumulate(sum_gradient{make_view<T>({8})}, tokens{2});
  group.update();
  CHECK(taken(theta) == std::vector<T>{4});  // divided by 4 once more: 1
}

TEST_CASE_TEMPLATE("P-002 gradients that were divided by the group's weight already are only added", T, float, double) {
  Kokkos::View<T*> theta("theta", 1);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sum_objective{},
                            accrue::sgd{.learning_rate = 1.0});
  for (int i = 0; i < 4; ++i) group.accumulate(sum_gradient{make_view<T>({1})}, tokens{2});
  group.update();
  CHECK(taken(theta) == std::vector<T>{4});  // divided by 4 once more: 1
}

TEST_CASE_TEMPLATE("P-009 two terms of the loss have denominators of their own", T, float, double) {
  struct token_term {};
  struct auxiliary {};
  Kokkos::View<T*> theta("theta", 1);
  auto const gradient = [&](auto division) {
    accrue::accumulator group(
        accrue::parameters(theta),
        accrue::terms(accrue::term<token_term>(accrue::per_token{}), accrue::term<auxiliary>(accrue::per_microbatch{})),
        division, accrue::sgd{.learning_rate = 1.0});
    group.accumulate(accrue::of<token_term>(sum_gradient{make_view<T>({6})}),
                     accrue::of<auxiliary>(mean_gradient{make_view<T>({1})}), tokens{2});
    group.accumulate(accrue::of<token_term>(sum_gradient{make_view<T>({18})}),
                     accrue::of<auxiliary>(mean_gradient{make_view<T>({3})}), tokens{6});
    group.update();
    return taken(theta);
  };
  // The second term divided by tokens: 3.5; weighed by tokens: 5.5.
  CHECK(gradient(accrue::late{}) == std::vector<T>{5});
  CHECK(gradient(accrue::early{tokens{8}, accrue::microbatches{2}}) == std::vector<T>{5});
}

TEST_CASE_TEMPLATE("P-004 the result does not depend on how the batch is split", T, float, double) {
  Kokkos::View<T*> theta("theta", 1);
  auto group = mean_over<accrue::per_sample>(theta);
  for (int const per_microbatch : {6, 3, 2, 1}) {
    CAPTURE(per_microbatch);
    for (int first = 1; first <= 6; first += per_microbatch) {
      values_of_microbatch gradients, losses;
      for (int i = first; i < first + per_microbatch; ++i) {
        gradients.push_back(i);
        losses.push_back(i * i);
      }
      group.accumulate(mean_gradient{make_view<T>({T(mean_of(gradients))})}, samples{per_microbatch},
                       mean_loss{mean_of(losses)});
    }
    group.update();
    CHECK(taken(theta) == std::vector<T>{3.5});  // a sum of means: 7 with two microbatches, 21 with six
    CHECK(last_loss(group) == about<double>(91.0 / 6.0));
  }
}

TEST_CASE_TEMPLATE("P-005 microbatches of unequal size weigh what they hold", T, float, double) {
  Kokkos::View<T*> theta("theta", 1);
  auto group = mean_over<accrue::per_sample>(theta);
  for (values_of_microbatch const& gradients : {values_of_microbatch{1, 2, 3}, {4, 5, 6}, {7}})
    group.accumulate(mean_gradient{make_view<T>({T(mean_of(gradients))})}, samples{gradients.size()});
  group.update();
  CHECK(taken(theta) == std::vector<T>{4});  // a mean of means: 14/3
}

TEST_CASE_TEMPLATE("P-006 per sample and per token are two objectives, neither depends on the split", T, float,
                   double) {
  using rows = std::vector<values_of_microbatch>;  // the tokens of each sample
  values_of_microbatch const short_sample{6}, long_sample{2, 2, 2};
  std::vector<rows> const splits[] = {{{short_sample, long_sample}}, {{short_sample}, {long_sample}}};

  Kokkos::View<T*> theta("theta", 1);
  auto by_sample = mean_over<accrue::per_sample>(theta);
  auto by_token = mean_over<accrue::per_token>(theta);
  for (auto const& microbatches : splits) {
    CAPTURE(microbatches.size());
    for (rows const& microbatch : microbatches) {
      values_of_microbatch means_of_samples;
      for (auto const& sample : microbatch) means_of_samples.push_back(mean_of(sample));
      double const mean = mean_of(means_of_samples);
      by_sample.accumulate(mean_gradient{make_view<T>({T(mean)})}, samples{microbatch.size()}, mean_loss{mean});
    }
    by_sample.update();
    CHECK(taken(theta) == std::vector<T>{4});
    CHECK(last_loss(by_sample) == 4.0);

    for (rows const& microbatch : microbatches) {
      values_of_microbatch all;
      for (auto const& sample : microbatch) all.insert(all.end(), sample.begin(), sample.end());
      by_token.accumulate(mean_gradient{make_view<T>({T(mean_of(all))})}, tokens{all.size()}, mean_loss{mean_of(all)});
    }
    by_token.update();
    CHECK(taken(theta) == std::vector<T>{3});  // a mean of means: 3 for one microbatch, 4 for two
    CHECK(last_loss(by_token) == 3.0);
  }
}

TEST_CASE_TEMPLATE("P-007 the weight is the number of positions that have a target", T, float, double) {
  Kokkos::View<T*> theta("theta", 1);
  auto group = mean_over<accrue::per_token>(theta);
  // Two rows of five labels; the last position of a row has no next token.
  group.accumulate(sum_gradient{make_view<T>({16})}, tokens{2 * 4}, accrue::ignored_tokens{2 * 1},
                   accrue::positions{2 * 5}, sum_loss{16.0});
  group.update();
  CHECK(taken(theta) == std::vector<T>{2});  // over the labels: 1.6
  CHECK(last_loss(group) == 2.0);
  CHECK(group.ledger().records().back().weight == 8.0);
  CHECK(group.ledger().positions() == accrue::positions{10});
}

TEST_CASE_TEMPLATE("P-008 the denominator belongs to this group only", T, float, double) {
  Kokkos::View<T*> theta("theta", 1);
  auto group = mean_over<accrue::per_token>(theta);
  auto const update_of = [&](T first, T second) {
    group.accumulate(sum_gradient{make_view<T>({first})}, tokens{10});
    group.accumulate(sum_gradient{make_view<T>({second})}, tokens{10});
    group.update();
    return taken(theta);
  };
  CHECK(update_of(30, 50) == std::vector<T>{4});
  CHECK(update_of(10, 30) == std::vector<T>{2});  // with the tokens of both groups: 1
  CHECK(group.ledger().records().back().weight == 20.0);
}

TEST_CASE_TEMPLATE("P-027 the reported loss is formed as the gradient is", T, float, double) {
  Kokkos::View<T*> theta("theta", 1);
  auto const gradient = make_view<T>({1});
  auto by_microbatch = mean_over<accrue::per_microbatch>(theta);
  by_microbatch.accumulate(mean_gradient{gradient}, mean_loss{2.0});
  by_microbatch.accumulate(mean_gradient{gradient}, mean_loss{4.0});
  by_microbatch.update();
  CHECK(last_loss(by_microbatch) == 3.0);  // the sum: 6, the last: 4, the last over A: 2, the mean over A: 1.5

  auto by_token = mean_over<accrue::per_token>(theta);
  by_token.accumulate(mean_gradient{gradient}, tokens{1}, mean_loss{6.0});
  by_token.accumulate(mean_gradient{gradient}, tokens{3}, mean_loss{2.0});
  by_token.update();
  CHECK(last_loss(by_token) == 3.0);  // a mean of means: 4
}

TEST_CASE_TEMPLATE("P-027 a loss that lies on the device is reported like a number", T, float, double) {
  Kokkos::View<T*> theta("theta", 1);
  auto const gradient = make_view<T>({1});
  Kokkos::View<T> loss("loss");
  auto group = mean_over<accrue::per_token>(theta);
  for (int pass = 0; pass < 2; ++pass) {  // the sum of the first group must not stay in the second
    Kokkos::deep_copy(loss, T(6));
    group.accumulate(mean_gradient{gradient}, tokens{1}, mean_loss{loss});
    Kokkos::deep_copy(loss, T(6));
    group.accumulate(mean_gradient{gradient}, tokens{3}, sum_loss{loss});
    group.update();
    CHECK(last_loss(group) == 3.0);
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Groups with NaN or Inf in them: P-012, P-031, P-032 (without a loss scale), P-041, P-047, P-079, P-081.
#include "support/host.hpp"

#include <accrue/accumulator.hpp>
#include <accrue/finalize/clip_by_global_norm.hpp>
#include <accrue/finalize/clip_policy.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/update/adam.hpp>
#include <accrue/update/momentum.hpp>
#include <accrue/update/per_element.hpp>
#include <accrue/update/sgd.hpp>
#include <accrue/update/with_gradient.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

using accrue::mean_gradient;
using accrue::outcome;
using accrue::updates;
using support::infinite;
using support::make_view;
using support::not_a_number;
using support::values;

namespace {

template <class T>
auto clipped_to(double max_norm, Kokkos::View<T*> theta) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_token{},
                             accrue::clip_by_global_norm{.max_norm = max_norm}, accrue::sgd{.learning_rate = 1.0});
}

template <class T, class Group>
outcome update_of(Group& group, std::vector<T> const& gradients) {
  for (T const gradient : gradients) group.accumulate(mean_gradient{make_view<T>({gradient})}, accrue::tokens{1});
  return group.update().result();
}

/// Momentum and decoupled decay, as a user may write them.
struct decayed_momentum {
  template <class T, class State>
  KOKKOS_FUNCTION void operator()(T& theta, T gradient, State const& state) const {
    state[0] = T(0.9) * state[0] + gradient;
    theta = (T(1) - T(0.1) * T(0.1)) * theta - T(0.1) * state[0];
  }
};

template <class Rule>
Rule rule_with_state() {
  return Rule{.learning_rate = 0.1, .weight_decay = 0.1};
}
template <>
accrue::per_element<decayed_momentum> rule_with_state() {
  return accrue::per_element{decayed_momentum{}, 1};
}

struct count_calls {
  int* calls;
  template <class Gradient>
  void operator()(Gradient const&) const {
    ++*calls;
  }
};

}  // namespace

TEST_CASE_TEMPLATE("P-012 a group with a non-finite microbatch is skipped as a whole", T, float, double) {
  auto const theta = make_view<T>({1});
  auto group = clipped_to(infinite<double>, theta);
  group.accumulate(accrue::sum_gradient{make_view<T>({12})}, accrue::tokens{6});
  group.accumulate(accrue::sum_gradient{make_view<T>({not_a_number<T>})}, accrue::tokens{4});
  CHECK(group.update() == outcome::skipped_non_finite);
  CHECK(values(theta) == std::vector<T>{1});  // the finite one over all tokens: 1 - 1.2
}

TEST_CASE("P-012 a microbatch whose own norm is not finite is not clipped to 0: its group is skipped") {
  accrue::on_microbatch const clip(accrue::clip_by_global_norm{.max_norm = 1.0});
  auto const theta = make_view<double>({1, 1});
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, clip, accrue::sgd{.learning_rate = 1.0});
  for (double const large : {1.7e308, infinite<double>, not_a_number<double>}) {  // the modulus of two is no double
    CAPTURE(large);
    group.accumulate(mean_gradient{make_view<double>({0.5, 0.5})}, accrue::tokens{1});
    group.accumulate(mean_gradient{make_view<double>({large, large})}, accrue::tokens{1});
    CHECK(group.update() == outcome::skipped_non_finite);
    CHECK(values(theta) == std::vector<double>{1, 1});
  }
}

TEST_CASE("P-012 a group whose quotient is beyond the scalar of its sums is skipped") {
  auto const theta = make_view<float>({1, 1});
  accrue::accumulator group(accrue::parameters(theta), accrue::weighted{}, accrue::sgd{.learning_rate = 1.0});
  group.accumulate(accrue::sum_gradient{make_view<float>({1e38f, 0})}, accrue::weight{1e-3});
  CHECK(group.update() == outcome::skipped_non_finite);  // 1e41
  CHECK(values(theta) == std::vector<float>{1, 1});
  CHECK(group.ledger().records().back().norm == support::about<float>(1e41));

  group.accumulate(accrue::sum_gradient{make_view<float>({1e38f, 0})}, accrue::weight{1.0});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>{-1e38f, 1});

  auto const wide = make_view<double>({1, 1});
  accrue::accumulator in_double(accrue::parameters(wide), accrue::weighted{}, accrue::sgd{.learning_rate = 1.0});
  in_double.accumulate(accrue::sum_gradient{make_view<float>({1e38f, 0})}, accrue::weight{1e-3});
  CHECK(in_double.update() == outcome::applied);
}

TEST_CASE_TEMPLATE("P-031 Inf in the middle of a group skips that group and no other", T, float, double) {
  auto const theta = make_view<T>({T(0.1)});
  auto group = clipped_to(infinite<double>, theta);
  CHECK(update_of<T>(group, {1, infinite<T>, 3, 4}) == outcome::skipped_non_finite);
  CHECK(values(theta) == std::vector<T>{T(0.1)});
  CHECK(update_of<T>(group, {1, 2, 3, 4}) == outcome::applied);
  CHECK(values(theta) == std::vector<T>{T(0.1) - T(2.5)});  // not cleared: NaN
  accrue::ledger const& book = group.ledger();
  CHECK(book.microbatches() == accrue::microbatches{8});
  CHECK(book.attempted() == updates{2});
  CHECK(book.applied() == updates{1});
  CHECK(book.skipped() == updates{1});
}

TEST_CASE("P-031 two infinities of opposite sign skip the group as one does") {
  auto const theta = make_view<float>({1});
  auto group = clipped_to(infinite<double>, theta);
  CHECK(update_of<float>(group, {infinite<float>, -infinite<float>}) == outcome::skipped_non_finite);
  CHECK(std::isnan(group.ledger().records().back().norm));
  CHECK(values(theta) == std::vector<float>{1});
}

TEST_CASE("P-032 an applied update ends a run of skips") {
  auto const theta = make_view<float>({0});
  auto group = clipped_to(infinite<double>, theta);
  std::vector<std::int64_t> consecutive, total;
  for (float const gradient : {1.0f, not_a_number<float>, not_a_number<float>, 1.0f, not_a_number<float>}) {
    update_of<float>(group, {gradient});
    consecutive.push_back(group.ledger().consecutive_skips().value());
    total.push_back(group.ledger().skipped().value());
  }
  CHECK(consecutive == std::vector<std::int64_t>{0, 1, 2, 0, 1});  // never reset: 0, 1, 2, 2, 3
  CHECK(total == std::vector<std::int64_t>{0, 1, 2, 2, 3});
}

TEST_CASE_TEMPLATE("P-041 a skip leaves every tensor and all optimizer state alone", Rule, accrue::momentum,
                   accrue::adamw, accrue::per_element<decayed_momentum>) {
  struct model {
    Kokkos::View<float*> a = make_view<float>({1, 1});
    Kokkos::View<float*> b = make_view<float>({1});
  };
  model spared, skipped;
  auto const rule = rule_with_state<Rule>();
  accrue::accumulator without(accrue::parameters(spared.a, spared.b), accrue::per_microbatch{}, rule);
  accrue::accumulator with(accrue::parameters(skipped.a, skipped.b), accrue::per_microbatch{}, rule);
  auto const train = [](auto& group, std::vector<float> const& a, float b) {
    group.accumulate(mean_gradient{make_view<float>(a), make_view<float>({b})});
    return group.update().result();
  };

  train(without, {1, 1}, 1);  // now the momentum is 1
  train(with, {1, 1}, 1);
  CHECK(train(with, {1, 2}, not_a_number<float>) == outcome::skipped_non_finite);
  CHECK(values(skipped.a) == values(spared.a));  // updated by parts: less
  CHECK(values(skipped.b) == values(spared.b));  // decayed: less
  CHECK(with.ledger().applied() == updates{1});

  train(without, {0, 0}, 0);  // moves by the state alone
  train(with, {0, 0}, 0);
  CHECK(values(skipped.a) == values(spared.a));  // with momentum 0.9 before: another number
  CHECK(values(skipped.b) == values(spared.b));
  CHECK(values(skipped.a)[0] < 0.9f);
}

TEST_CASE("P-041 a user's function is not called for a skipped group") {
  auto const theta = make_view<float>({1});
  int calls = 0;
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::with_gradient{count_calls{&calls}});
  CHECK(update_of<float>(group, {not_a_number<float>}) == outcome::skipped_non_finite);
  CHECK(calls == 0);
  CHECK(update_of<float>(group, {1}) == outcome::applied);
  CHECK(calls == 1);
}

TEST_CASE_TEMPLATE("P-047 a norm that is not finite is reported, and nothing is written", T, float, double) {
  auto const theta = make_view<T>({1, 1});
  auto group = clipped_to(1.0, theta);
  for (T const bad : {infinite<T>, -infinite<T>, not_a_number<T>}) {
    CAPTURE(bad);
    group.accumulate(mean_gradient{make_view<T>({bad, 1})}, accrue::tokens{1});
    CHECK(group.update() == outcome::skipped_non_finite);
    CHECK(values(theta) == std::vector<T>{1, 1});  // clipped by 1/Inf: (NaN, 1)
    double const norm = group.ledger().records().back().norm;
    if (std::isnan(bad))
      CHECK(std::isnan(norm));
    else
      CHECK(norm == infinite<double>);
  }
}

TEST_CASE_TEMPLATE("P-079 NaN is found at any position", T, float, double) {
  for (std::size_t const size : {std::size_t{3}, std::size_t{100'003}}) {
    Kokkos::View<T*> const theta("theta", size), gradient("gradient", size);
    auto group = clipped_to(infinite<double>, theta);
    for (std::size_t const at : {std::size_t{0}, size / 2, size - 1}) {
      CAPTURE(size);
      CAPTURE(at);
      Kokkos::deep_copy(gradient, T(1));
      Kokkos::deep_copy(Kokkos::subview(gradient, at), not_a_number<T>);
      group.accumulate(mean_gradient{gradient}, accrue::tokens{1});
      accrue::gradient_summary const seen = group.measure();
      CHECK_FALSE(seen.finite);
      CHECK(std::isnan(seen.largest));  // by a comparison that NaN loses: 1
      CHECK(group.update() == outcome::skipped_non_finite);
    }
  }
}

TEST_CASE("P-081 every decision is that of its own group, also on an instance of its own") {
  Kokkos::DefaultExecutionSpace const exec =
      Kokkos::Experimental::partition_space(Kokkos::DefaultExecutionSpace{}, 1)[0];
  auto const alternate = [&](std::size_t size, int groups) {
    CAPTURE(size);
    Kokkos::View<float*> const theta("theta", size), gradient("gradient", size);
    Kokkos::deep_copy(gradient, 1.0f);
    accrue::accumulator group(exec, accrue::parameters(theta), accrue::per_microbatch{},
                              accrue::sgd{.learning_rate = 1.0});
    int wrong = 0;
    for (int g = 0; g < groups; ++g) {
      bool const finite = g % 2 == 0;
      Kokkos::deep_copy(exec, Kokkos::subview(gradient, size - 1), finite ? 1.0f : not_a_number<float>);
      group.accumulate(mean_gradient{gradient});
      bool const applied = group.update() == outcome::applied;
      if (applied != finite) ++wrong;  // the decision of the group before: all are wrong
    }
    CHECK(wrong == 0);
    CHECK(group.ledger().applied() == updates{groups / 2});
    CHECK(group.ledger().skipped() == updates{groups / 2});
    exec.fence();
    CHECK((values(theta) == std::vector<float>(size, -float(groups / 2))));
  };
  alternate(1'000'000, 40);  // long enough that a host that does not wait is ahead
  alternate(1'000, 1'000);
}

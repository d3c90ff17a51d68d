// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "values.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <vector>

TEST_CASE("two rules stand under one norm") {
  auto const a = filled<double>({0}), b = filled<double>({0});
  auto const a_gradient = filled<double>({6}), b_gradient = filled<double>({8});
  accrue::accumulator group(
      accrue::parameter_groups(accrue::parameters(a), accrue::parameters(b)), accrue::per_sample{},
      accrue::clip_by_global_norm{.max_norm = 5.0},
      accrue::per_group{accrue::sgd{.learning_rate = 1.0}, accrue::momentum{.learning_rate = 0.5, .factor = 0.5}});
  for (int update = 0; update < 2; ++update) {
    group.accumulate(accrue::mean_gradient{a_gradient, b_gradient}, accrue::samples{1});
    REQUIRE(group.update() == accrue::outcome::applied);
  }
  CHECK(group.ledger().records().back().norm == 10);
  CHECK(values(a) == std::vector<double>{-6});  // twice 0.5 * 6; under a norm of its own twice 5
  CHECK(values(b) == std::vector<double>{-5});  // 0.5 * 4, and 0.5 * (0.5 * 4 + 4)
}

TEST_CASE("one bad gradient skips all parameter groups") {
  auto const a = filled<double>({1}), b = filled<double>({1}), gradient = filled<double>({1});
  auto const bad = filled<double>({endless});
  accrue::accumulator group(accrue::parameter_groups(accrue::parameters(a), accrue::parameters(b)),
                            accrue::per_sample{}, accrue::per_group{accrue::sgd{}, accrue::adamw{}});
  group.accumulate(accrue::mean_gradient{gradient, bad}, accrue::samples{1});
  CHECK(group.update() == accrue::outcome::skipped_non_finite);
  CHECK(values(a) == std::vector<double>{1});
  CHECK(values(b) == std::vector<double>{1});
}

TEST_CASE("each rule keeps the state that it needs, also where another one needs more") {
  auto const a = filled<double>({0, 0}), b = filled<double>({0, 0}), c = filled<double>({0, 0});
  auto const alone = filled<double>({0, 0}), gradient = filled<double>({8, 16});
  accrue::adamw const adamw{.learning_rate = 0.5, .amsgrad = true};
  accrue::momentum const momentum{.learning_rate = 1.0, .factor = 0.5};
  accrue::accumulator group(
      accrue::parameter_groups(accrue::parameters(a), accrue::parameters(b), accrue::parameters(c)),
      accrue::per_sample{}, accrue::per_group{momentum, adamw, momentum});
  accrue::accumulator only_adamw(accrue::parameters(alone), accrue::per_sample{}, adamw);
  for (int update = 0; update < 2; ++update) {
    group.accumulate(accrue::mean_gradient{gradient, gradient, gradient}, accrue::samples{1});
    group.update();
    only_adamw.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
    only_adamw.update();
  }
  CHECK(values(a) == std::vector<double>{-20, -40});
  CHECK(values(b) == values(alone));
  CHECK(values(c) == std::vector<double>{-20, -40});
}

TEST_CASE("a function beside a rule sees the gradients and touched flags of its own parameter group") {
  auto const a = filled<double>({0}), b = filled<double>({0}), c = filled<double>({0});
  auto const gradient = filled<double>({8}), other = filled<double>({3});
  std::vector<double> seen;
  std::vector<bool> touched;
  accrue::accumulator group(
      accrue::parameter_groups(accrue::parameters(a), accrue::parameters(b, c)), accrue::per_sample{},
      accrue::per_group{accrue::sgd{.learning_rate = 1.0}, accrue::with_gradient([&](auto const& g) {
                          seen = values(g.template get<1>());
                          touched = {g.touched(0), g.touched(1)};
                        })});
  group.accumulate(accrue::mean_gradient{gradient, accrue::no_gradient, other}, accrue::samples{1});
  group.update();
  CHECK(values(a) == std::vector<double>{-8});
  CHECK(seen == std::vector<double>{3});
  CHECK(touched == std::vector<bool>{false, true});
}

TEST_CASE("one rule serves all parameter groups, and a schedule changes all rules at once") {
  auto const a = filled<double>({0}), b = filled<double>({0}), gradient = filled<double>({1});
  auto const sets = accrue::parameter_groups(accrue::parameters(a), accrue::parameters(b));
  accrue::accumulator one(sets, accrue::per_sample{}, accrue::sgd{.learning_rate = 4.0});
  one.accumulate(accrue::mean_gradient{gradient, gradient}, accrue::samples{1});
  one.update();
  CHECK(values(a) == std::vector<double>{-4});
  CHECK(values(b) == std::vector<double>{-4});

  auto const rules = [](double x) {
    return accrue::per_group{accrue::sgd{.learning_rate = x}, accrue::sgd{.learning_rate = 2 * x}};
  };
  accrue::accumulator two(sets, accrue::per_sample{}, rules(1));
  two.change_rule(rules(8));
  two.accumulate(accrue::mean_gradient{gradient, gradient}, accrue::samples{1});
  two.update();
  CHECK(values(a) == std::vector<double>{-12});
  CHECK(values(b) == std::vector<double>{-20});
  CHECK_THROWS_AS(two.change_rule(rules(-1)), accrue::error);
  CHECK_THROWS_AS(accrue::accumulator(sets, accrue::per_sample{}, rules(not_a_number)), accrue::error);
}

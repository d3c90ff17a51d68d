// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "values.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <type_traits>
#include <vector>

TEST_CASE_TEMPLATE("sgd goes against the gradient and the decayed parameter", T, float, double) {
  auto const theta = filled<T>({T(1), T(-2), T(0.5)});
  auto const gradient = filled<T>({T(4), T(2), T(-8)});
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{},
                            accrue::sgd{.learning_rate = 0.25, .weight_decay = 0.5});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{3});
  REQUIRE(group.update() == accrue::outcome::applied);
  CHECK(values(theta) == std::vector<T>{T(-0.125), T(-2.25), T(2.4375)});  // 1 - 0.25 * (4 + 0.5 * 1), ...
}

TEST_CASE("sgd moves a complex parameter in both parts") {
  using complex = Kokkos::complex<double>;
  auto const theta = filled<complex>({{1, 2}});
  auto const gradient = filled<complex>({{4, -8}});
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{},
                            accrue::sgd{.learning_rate = 0.25, .weight_decay = 0.5});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
  REQUIRE(group.update() == accrue::outcome::applied);
  CHECK(values(theta)[0] == complex(-0.125, 3.75));  // 1 - 0.25 * (4 + 0.5), 2 - 0.25 * (-8 + 1)
}

TEST_CASE_TEMPLATE("a 16-bit parameter is widened, updated in float and rounded once", P, accrue::float16,
                   accrue::bfloat16) {
  // Half a unit in the last place of 1, and a little more: rounds up, while a gradient that was rounded to 16 bits
  // first would make it a tie, which goes to 1.
  float const ulp = std::is_same_v<P, accrue::float16> ? 0x1p-10f : 0x1p-7f;
  auto const theta = filled<P>({P(1.0f), P(1.0f)});
  auto const gradient = filled<float>({-ulp * (1 + 0x1p-11f), -ulp});
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::sgd{.learning_rate = 0.5});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
  REQUIRE(group.update() == accrue::outcome::applied);
  CHECK(float(values(theta)[0]) == 1 + ulp);
  CHECK(float(values(theta)[1]) == 1);
}

TEST_CASE("an untouched parameter does not decay, one with a gradient of zero does") {
  auto const a = filled<double>({8}), b = filled<double>({8}), zero = filled<double>({0});
  accrue::accumulator group(accrue::parameters(a, b), accrue::per_sample{},
                            accrue::sgd{.learning_rate = 0.25, .weight_decay = 0.5});
  group.accumulate(accrue::mean_gradient{zero, accrue::no_gradient}, accrue::samples{1});
  REQUIRE(group.update() == accrue::outcome::applied);
  CHECK(values(a) == std::vector<double>{7});
  CHECK(values(b) == std::vector<double>{8});
}

TEST_CASE("a schedule on applied updates moves with them, and not with a skipped group") {
  auto const theta = filled<double>({0}), gradient = filled<double>({1}), bad = filled<double>({not_a_number});
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::sgd{.learning_rate = 1.0});
  auto const rate = [&] { return 1.0 / static_cast<double>(1 << group.ledger().applied().value()); };

  for (auto const& each : {gradient, bad, gradient, gradient}) {
    group.change_rule(accrue::sgd{.learning_rate = rate()});
    group.accumulate(accrue::mean_gradient{each}, accrue::samples{1});
    group.update();
  }
  CHECK(values(theta) == std::vector<double>{-1.75});  // 1 + 1/2 + 1/4; counting attempts gives 1 + 1/4 + 1/8
  CHECK(group.policies().update == accrue::sgd{.learning_rate = 0.25});
}

TEST_CASE("a rule that was changed inside a group is in force for its update") {
  auto const theta = filled<double>({0}), gradient = filled<double>({1});
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::sgd{.learning_rate = 1.0});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
  group.change_rule(accrue::sgd{.learning_rate = 16.0});
  group.update();
  CHECK(values(theta) == std::vector<double>{-16});
}

TEST_CASE("settings of sgd that make no sense are refused, at construction and later") {
  auto const theta = filled<double>({0}), gradient = filled<double>({1});
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::sgd{.learning_rate = 2.0});
  for (double const bad : {-1.0, -0x1p-1074, not_a_number, endless}) {
    CAPTURE(bad);
    for (accrue::sgd const& rule : {accrue::sgd{.learning_rate = bad}, accrue::sgd{.weight_decay = bad}}) {
      CHECK_THROWS_AS(accrue::accumulator(accrue::parameters(theta), accrue::per_sample{}, rule), accrue::error);
      CHECK_THROWS_AS(group.change_rule(rule), accrue::error);
    }
  }
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
  group.update();
  CHECK(values(theta) == std::vector<double>{-2});  // the rule that was there
}

TEST_CASE("a learning rate of 0 changes nothing and counts as an update") {
  auto const theta = filled<double>({3}), gradient = filled<double>({1});
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{},
                            accrue::sgd{.learning_rate = 0.0, .weight_decay = 1.0});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
  CHECK(group.update() == accrue::outcome::applied);
  CHECK(values(theta) == std::vector<double>{3});
}

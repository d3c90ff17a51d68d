// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "values.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

namespace {

using real = long double;

/// One element under Adam, in long double, as the papers write it.
struct element {
  real theta = 0, m = 0, v = 0, peak = 0;
  int n = 0;

  template <class Rule>
  void update(Rule const& r, real gradient) {
    bool const decoupled = std::is_same_v<Rule, accrue::adamw>;
    real const rate = r.learning_rate, beta1 = r.beta1, beta2 = r.beta2;
    real const g = gradient + (decoupled ? 0 : r.weight_decay * theta);
    ++n;
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    peak = std::max(peak, v);
    real const mean = m / (1 - std::pow(beta1, static_cast<real>(n)));
    real const square = (r.amsgrad ? peak : v) / (1 - std::pow(beta2, static_cast<real>(n)));
    theta -= rate * mean / (std::sqrt(square) + r.epsilon) + (decoupled ? rate * r.weight_decay * theta : 0);
  }
};

/// Gradients that change sign and size: large at first, so that AMSGrad remembers them.
double gradient_at(int update, std::size_t i) {
  return std::sin(1.7 * update + static_cast<double>(i)) * (update < 3 ? 50.0 : 0.5) + 0.01 * static_cast<double>(i);
}

/// One accumulator over one parameter, for one update at a time.
template <class T, class Rule>
auto group_on(Kokkos::View<T*> const& theta, Rule const& rule) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_sample{}, rule);
}
template <class Group, class T>
accrue::outcome update(Group& group, Kokkos::View<T*> const& gradient) {
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
  return group.update().result();
}

}  // namespace

TEST_CASE_TEMPLATE("Adam and AdamW follow their formulas", Rule, accrue::adam, accrue::adamw) {
  std::vector<Rule> const rules{
      {},
      {.learning_rate = 0.1, .weight_decay = 0.0},
      {.learning_rate = 0.1, .weight_decay = 0.2},
      {.learning_rate = 0.03, .beta1 = 0.6, .beta2 = 0.8, .epsilon = 1e-3},
      {.learning_rate = 0.1, .beta1 = 0.0, .beta2 = 0.5},
      {.learning_rate = 0.1, .beta1 = 0.5, .beta2 = 0.5, .weight_decay = 0.1, .amsgrad = true},
  };
  for (Rule const& rule : rules) {
    CAPTURE(rule.learning_rate);
    std::vector<double> const start{1.0, -2.0, 0.0};
    auto const theta = filled<double>(start), gradient = filled<double>(start);
    auto group = group_on(theta, rule);
    std::vector<element> expected(3);
    for (std::size_t i = 0; i < 3; ++i) expected[i].theta = start[i];
    for (int n = 0; n < 20; ++n) {
      set(gradient, {gradient_at(n, 0), gradient_at(n, 1), gradient_at(n, 2)});
      REQUIRE(update(group, gradient) == accrue::outcome::applied);
      for (std::size_t i = 0; i < 3; ++i) {
        expected[i].update(rule, gradient_at(n, i));
        // A dozen roundings of 1.1e-16 in each of 20 updates, of numbers up to 2, and of moments that lose up to a
        // factor of 100 to cancellation.
        CHECK(std::fabs(values(theta)[i] - expected[i].theta) <= 1e-13);
      }
    }
  }
}

TEST_CASE("the first update moves by the learning rate, whatever the size of the gradient") {
  auto const theta = filled<double>({0, 0, 0}), gradient = filled<double>({1e-3, -1.0, 1e6});
  auto group = group_on(theta, accrue::adamw{.learning_rate = 0.5, .epsilon = 0.0});
  update(group, gradient);
  // Without bias correction it is 0.1 / sqrt(0.001) = 3.2 times as much.
  CHECK(values(theta)[0] == doctest::Approx(-0.5).epsilon(1e-15));
  CHECK(values(theta)[1] == doctest::Approx(0.5).epsilon(1e-15));
  CHECK(values(theta)[2] == doctest::Approx(-0.5).epsilon(1e-15));
}

TEST_CASE("AdamW decays by rate times decay, Adam not at all in an update that is normalized anyway") {
  auto const a = filled<double>({2}), b = filled<double>({2}), gradient = filled<double>({1});
  auto adam = group_on(a, accrue::adam{.learning_rate = 0.5, .epsilon = 0.0, .weight_decay = 0.25});
  auto adamw = group_on(b, accrue::adamw{.learning_rate = 0.5, .epsilon = 0.0, .weight_decay = 0.25});
  update(adam, gradient);
  update(adamw, gradient);
  CHECK(values(a)[0] == doctest::Approx(1.5).epsilon(1e-15));
  CHECK(values(b)[0] == doctest::Approx(1.25).epsilon(1e-15));  // and 0.5 * 0.25 * 2 for the decay
}

TEST_CASE(
    "a group that is skipped, or that passes a parameter over, leaves moments and bias correction where they were") {
  accrue::adamw const rule{.learning_rate = 0.5};
  auto const a = filled<double>({1}), b = filled<double>({1}), alone = filled<double>({1});
  auto const first = filled<double>({1.0}), second = filled<double>({-0.25}), bad = filled<double>({not_a_number});
  accrue::accumulator both(accrue::parameters(a, b), accrue::per_sample{}, rule);
  auto const give = [&](auto const& to_a, auto const& to_b) {
    both.accumulate(accrue::mean_gradient{to_a, to_b}, accrue::samples{1});
    return both.update().result();
  };
  CHECK(give(first, accrue::no_gradient) == accrue::outcome::applied);
  CHECK(give(bad, first) == accrue::outcome::skipped_non_finite);
  CHECK(give(first, first) == accrue::outcome::applied);
  CHECK(give(first, bad) == accrue::outcome::skipped_non_finite);
  CHECK(give(first, accrue::no_gradient) == accrue::outcome::applied);
  CHECK(give(first, second) == accrue::outcome::applied);

  auto one = group_on(alone, rule);  // what b has been through
  update(one, first);
  update(one, second);
  CHECK(values(b) == values(alone));
  CHECK(values(a) != values(alone));
}

TEST_CASE("the moments of a complex parameter are those of its parts") {
  using complex = Kokkos::complex<double>;
  for (bool const amsgrad : {false, true}) {
    accrue::adam const rule{.learning_rate = 0.1, .weight_decay = 0.2, .amsgrad = amsgrad};
    auto const theta = filled<complex>({{1, -2}}), gradient = filled<complex>({{0, 0}});
    auto const parts = filled<double>({1, -2}), gradient_of_parts = filled<double>({0, 0});
    auto whole = group_on(theta, rule);
    auto divided = group_on(parts, rule);
    for (int n = 0; n < 10; ++n) {
      set(gradient, {{gradient_at(n, 0), gradient_at(n, 1)}});
      set(gradient_of_parts, {gradient_at(n, 0), gradient_at(n, 1)});
      update(whole, gradient);
      update(divided, gradient_of_parts);
    }
    // The same operations, which a compiler may fuse here and not there.
    CHECK(values(theta)[0].real() == doctest::Approx(values(parts)[0]).epsilon(1e-13));
    CHECK(values(theta)[0].imag() == doctest::Approx(values(parts)[1]).epsilon(1e-13));
  }
}

TEST_CASE_TEMPLATE("the moments of a 16-bit parameter are kept in float", P, accrue::float16, accrue::bfloat16) {
  double const roundoff = std::is_same_v<P, accrue::float16> ? 0x1p-11 : 0x1p-8;
  // With beta2 = 0.999 the second moment would not move any more in 16 bits.
  accrue::adamw const rule{.learning_rate = 0.1};
  auto const theta = filled<P>({P(1.0f)});
  auto const gradient = filled<float>({0});
  auto group = group_on(theta, rule);
  element expected;
  expected.theta = 1;
  for (int n = 0; n < 50; ++n) {
    set(gradient, {static_cast<float>(gradient_at(n, 0))});
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
    group.update();
    expected.update(rule, static_cast<float>(gradient_at(n, 0)));
    real const found = float(values(theta)[0]);
    // One rounding to 16 bits, and a few thousand times less for those to float.
    CHECK(std::fabs(found - expected.theta) <= roundoff * std::fabs(expected.theta) + 1e-5);
    expected.theta = found;
  }
}

TEST_CASE("AMSGrad can be switched off and on again where its state was allocated, else it is refused") {
  auto const theta = filled<double>({0}), gradient = filled<double>({1});
  auto with = group_on(theta, accrue::adamw{.amsgrad = true});
  CHECK_NOTHROW(with.change_rule(accrue::adamw{.amsgrad = false}));
  CHECK_NOTHROW(with.change_rule(accrue::adamw{.amsgrad = true}));

  auto without = group_on(theta, accrue::adamw{.learning_rate = 0.5, .epsilon = 0.0});
  CHECK_THROWS_AS(without.change_rule(accrue::adamw{.learning_rate = 7.0, .amsgrad = true}), accrue::error);
  update(without, gradient);
  CHECK(values(theta)[0] == doctest::Approx(-0.5).epsilon(1e-15));  // the rule that was there
}

TEST_CASE_TEMPLATE("settings of Adam and AdamW that make no sense are refused", Rule, accrue::adam, accrue::adamw) {
  auto const theta = filled<double>({0});
  auto const refused = [&](Rule const& rule) { CHECK_THROWS_AS(group_on(theta, rule), accrue::error); };
  for (double const bad : {-0.5, not_a_number, endless}) {
    CAPTURE(bad);
    refused({.learning_rate = bad});
    refused({.beta1 = bad});
    refused({.beta2 = bad});
    refused({.epsilon = bad});
    refused({.weight_decay = bad});
  }
  refused({.beta1 = 1.0});
  refused({.beta2 = 1.0});
}

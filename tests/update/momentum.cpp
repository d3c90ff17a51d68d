// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "values.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <vector>

namespace {

/// Parameters of two views that start at 0, under a rule whose arithmetic is exact for small multiples of 1/8.
struct trial {
  Kokkos::View<double*> a = filled<double>({0}), b = filled<double>({0});
  Kokkos::View<double*> gradient = filled<double>({8}), bad = filled<double>({not_a_number});
  decltype(accrue::accumulator(accrue::parameters(a, b), accrue::per_sample{}, accrue::momentum{})) group;

  explicit trial(accrue::momentum const& rule) : group(accrue::parameters(a, b), accrue::per_sample{}, rule) {}

  /// One group of one microbatch with the gradient 8 for a, and for b if it is touched.
  void update(bool touch_b = true) {
    if (touch_b)
      group.accumulate(accrue::mean_gradient{gradient, gradient}, accrue::samples{1});
    else
      group.accumulate(accrue::mean_gradient{gradient, accrue::no_gradient}, accrue::samples{1});
    group.update();
  }
  void skip() {
    group.accumulate(accrue::mean_gradient{bad, gradient}, accrue::samples{1});
    CHECK(group.update() == accrue::outcome::skipped_non_finite);
  }
};

}  // namespace

TEST_CASE("momentum keeps a part of the last change") {
  trial t({.learning_rate = 1.0, .factor = 0.5});
  t.update();
  CHECK(values(t.a)[0] == -8);
  t.update();
  CHECK(values(t.a)[0] == -20);  // 0.5 * 8 + 8
  t.update();
  CHECK(values(t.a)[0] == -34);  // 0.5 * 12 + 8
}

TEST_CASE("the first update is not dampened, later ones are") {
  trial t({.learning_rate = 1.0, .factor = 0.5, .dampening = 0.25});
  t.update();
  CHECK(values(t.a)[0] == -8);  // dampened it would be -6
  t.update();
  CHECK(values(t.a)[0] == -18);  // 0.5 * 8 + 0.75 * 8
}

TEST_CASE("Nesterov looks ahead by the factor") {
  trial t({.learning_rate = 1.0, .factor = 0.5, .nesterov = true});
  t.update();
  CHECK(values(t.a)[0] == -12);  // 8 + 0.5 * 8
  t.update();
  CHECK(values(t.a)[0] == -26);  // 8 + 0.5 * (0.5 * 8 + 8)
}

TEST_CASE("weight decay enters the velocity") {
  trial t({.learning_rate = 1.0, .factor = 0.5, .weight_decay = 0.125});
  t.update();
  CHECK(values(t.a)[0] == -8);
  t.update();
  CHECK(values(t.a)[0] == -19);  // 0.5 * 8 + (8 - 0.125 * 8)
}

TEST_CASE("a skipped group leaves the velocity alone, and is no first update") {
  trial t({.learning_rate = 1.0, .factor = 0.5, .dampening = 0.25});
  t.skip();
  t.update();
  CHECK(values(t.a)[0] == -8);
  t.skip();
  t.update();
  CHECK(values(t.a)[0] == -18);
}

TEST_CASE("a parameter that is passed over keeps its velocity, and its first update comes when it is first touched") {
  trial t({.learning_rate = 1.0, .factor = 0.5, .dampening = 0.25});
  t.update(false);
  CHECK(values(t.b)[0] == 0);
  t.update();
  CHECK(values(t.b)[0] == -8);  // dampened, as the second update of the group, it would be -6
  t.update(false);
  CHECK(values(t.b)[0] == -8);
  t.update();
  CHECK(values(t.b)[0] == -18);  // a velocity that had decayed once more would give -16
}

TEST_CASE("the velocity of a complex parameter is complex") {
  using complex = Kokkos::complex<float>;
  auto const theta = filled<complex>({{0, 0}}), gradient = filled<complex>({{8, -16}});
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{},
                            accrue::momentum{.learning_rate = 1.0, .factor = 0.5});
  for (int update = 0; update < 2; ++update) {
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
    group.update();
  }
  CHECK(values(theta)[0] == complex(-20, 40));
}

TEST_CASE_TEMPLATE("the velocity of a 16-bit parameter is kept in float", P, accrue::float16, accrue::bfloat16) {
  std::vector<P> const start{P(1.0f), P(-0.3f), P(100.0f)};
  auto const theta = filled<P>(start);
  auto const gradient = filled<P>({P(0.1f), P(0.7f), P(-3.3f)});
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{},
                            accrue::momentum{.learning_rate = 0.5, .factor = 0.5});
  // The products by 0.5 are exact, so each sum is one rounding to float, whatever the compiler fuses.
  std::vector<P> expected = start;
  std::vector<float> velocity(3, 0.0f);
  for (int update = 0; update < 20; ++update) {
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
    group.update();
    for (std::size_t i = 0; i < 3; ++i) {
      velocity[i] = 0.5f * velocity[i] + float(values(gradient)[i]);
      expected[i] = P(float(expected[i]) - 0.5f * velocity[i]);
      CHECK(values(theta)[i].bits() == expected[i].bits());
    }
  }
}

TEST_CASE("settings of momentum that make no sense are refused") {
  auto const theta = filled<double>({0});
  auto const refused = [&](accrue::momentum const& rule) {
    CHECK_THROWS_AS(accrue::accumulator(accrue::parameters(theta), accrue::per_sample{}, rule), accrue::error);
  };
  for (double const bad : {-0.5, not_a_number, endless}) {
    CAPTURE(bad);
    refused({.learning_rate = bad});
    refused({.factor = bad});
    refused({.dampening = bad});
    refused({.weight_decay = bad});
  }
  refused({.factor = 0.0, .nesterov = true});
  refused({.dampening = 0.5, .nesterov = true});
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parameters of 16 bits whose updates are right on average.
#include <accrue/accrue.hpp>
#include <accrue/restart.hpp>

#include "support/host.hpp"

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace {

using accrue::bfloat16;
using accrue::float16;
using accrue::mean_gradient;
using accrue::stochastic_rounding;
using array = Kokkos::View<float*>;
using halves = Kokkos::View<bfloat16*>;
using support::fill;
using support::values;

template <class View>
View constant(std::string const& name, std::size_t size, double value) {
  View const made(name, size);
  Kokkos::deep_copy(made, accrue::narrow<typename View::non_const_value_type>(value));
  return made;
}

template <class Group, class... Gradients>
void train(Group& group, int updates, Gradients const&... gradients) {
  for (int u = 0; u < updates; ++u) {
    group.accumulate(mean_gradient{gradients...}, accrue::samples{1});
    REQUIRE(group.update() == accrue::outcome::applied);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("stochastic_rounding: updates that 16 bits cannot show are right on average", T, float16, bfloat16) {
  using narrow_array = Kokkos::View<T*>;
  constexpr std::size_t size = 1 << 14;
  double const unit = std::is_same_v<T, float16> ? 0x1p-10 : 0x1p-7;
  auto const gradient = constant<array>("gradient", size, -unit / 8);
  auto const theta = constant<narrow_array>("theta", size, 1.0), alone = constant<narrow_array>("alone", size, 1.0);
  accrue::accumulator group(accrue::parameters(stochastic_rounding{theta}, alone), accrue::per_sample{},
                            accrue::sgd{.learning_rate = 1.0});
  train(group, 12, gradient, gradient);
  CHECK(values(alone)[7] == 1.0f);  // rounded to the nearest: nothing happened
  double mean = 0.0;
  for (double const x : values(theta)) {
    double const units = (x - 1.0) / unit;
    REQUIRE((units == std::floor(units) && units >= 0.0));
    mean += units / size;
  }
  double const deviation = std::sqrt(12 * (1.0 / 8) * (7.0 / 8) / size);
  CHECK(std::abs(mean - 12.0 / 8) < 4 * deviation);
}

TEST_CASE("stochastic_rounding: the bits are those of the view, the element and the update, in any layout") {
  constexpr int rows = 19, columns = 24;
  std::vector<float> gradients, begin;
  for (int i = 0; i < rows * columns; ++i)
    gradients.push_back(static_cast<float>(std::sin(1.0 + i))), begin.push_back(static_cast<float>(i % 7) - 3.0f);
  array const first("first", 5), of_first("gradient", 5);
  Kokkos::View<float**, Kokkos::LayoutRight> const gradient("gradient", rows, columns);
  fill(gradient, gradients);
  auto const trained = [&](auto const& theta) {
    fill(theta, begin);
    accrue::accumulator group(accrue::parameters(first, stochastic_rounding{theta}), accrue::per_sample{},
                              accrue::sgd{.learning_rate = 0.001});
    train(group, 2, of_first, gradient);
    return values(theta);
  };
  std::vector<float> expected;
  for (int i = 0; i < rows * columns; ++i) {
    float x = accrue::bfloat16(begin[static_cast<std::size_t>(i)]);
    for (int update = 1; update <= 2; ++update)
      x = accrue::narrow_at_random<bfloat16>(x - static_cast<float>(0.001) * gradients[static_cast<std::size_t>(i)],
                                             accrue::random_stream(1, update)(i));
    expected.push_back(x);
  }
  CHECK(trained(Kokkos::View<bfloat16**, Kokkos::LayoutRight>("theta", rows, columns)) == expected);
  Kokkos::View<bfloat16**, Kokkos::LayoutRight> const wide("theta", rows, columns + 5);
  auto const apart = Kokkos::subview(wide, Kokkos::ALL, Kokkos::pair(3, 3 + columns));
  CHECK(trained(apart) == expected);
  CHECK(values(wide)[0] == 0.0f);
  Kokkos::View<bfloat16*> const memory("theta", rows * columns + 1);  // begins where lanes are not aligned
  CHECK(trained(Kokkos::View<bfloat16**, Kokkos::LayoutRight, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
            memory.data() + 1, rows, columns)) == expected);
}

TEST_CASE("stochastic_rounding: replicas that see the same gradients stay equal, and a skipped update draws nothing") {
  constexpr std::size_t size = 1000;
  auto const gradient = constant<array>("gradient", size, 1e-4);
  auto const poisoned = constant<array>("gradient", size, std::numeric_limits<double>::quiet_NaN());
  auto const a = constant<halves>("a", size, 1.0), b = constant<halves>("b", size, 1.0);
  auto const make = [](halves const& theta) {
    return accrue::accumulator(accrue::parameters(stochastic_rounding{theta}), accrue::per_sample{},
                               accrue::adamw{.learning_rate = 1e-3});
  };
  auto one = make(a), other = make(b);
  train(one, 3, gradient);
  train(other, 1, gradient);
  other.accumulate(mean_gradient{poisoned}, accrue::samples{1});
  CHECK(other.update() == accrue::outcome::skipped_non_finite);
  train(other, 2, gradient);
  CHECK(values(a) == values(b));
  CHECK(values(a) != std::vector<float>(size, values(a)[0]));
}

TEST_CASE("stochastic_rounding: goes on after a restart as if it had not been stopped") {
  auto const gradient = constant<array>("gradient", 777, 1e-3);
  auto const whole = constant<halves>("theta", 777, 1.0), halted = constant<halves>("theta", 777, 1.0),
             resumed = constant<halves>("theta", 777, 5.0), nearest = constant<halves>("theta", 777, 5.0);
  auto const make = [](auto const& item) {
    return accrue::accumulator(accrue::parameters(item), accrue::per_sample{}, accrue::momentum{.learning_rate = 0.1});
  };
  auto reference = make(stochastic_rounding{whole}), before = make(stochastic_rounding{halted}),
       after = make(stochastic_rounding{resumed});
  train(reference, 6, gradient);
  train(before, 2, gradient);
  std::stringstream state;
  accrue::save(before, state);
  accrue::load(after, state);
  train(after, 4, gradient);
  CHECK(values(resumed) == values(whole));
  auto other = make(nearest);
  state.clear();
  state.seekg(0);
  std::string message;
  try {
    accrue::load(other, state);
  } catch (accrue::error const& e) {
    message = e.what();
  }
  CHECK(message.find("rounded at random") != std::string::npos);
  CHECK(values(nearest)[0] == 5.0f);
}

TEST_CASE("stochastic_rounding: stands among others, in groups and as a vector, and where sums are double") {
  std::vector<halves> const many{constant<halves>("many", 100, 1.0), constant<halves>("many", 3000, 1.0)};
  std::vector<halves> const gradients{constant<halves>("gradient", 100, -1.0),
                                      constant<halves>("gradient", 3000, -1.0)};
  auto const copy = constant<halves>("copy", 8, 1.0);
  auto const weights = constant<array>("weights", 8, 1.0), gradient = constant<array>("gradient", 8, -1.0);
  accrue::accumulator group(accrue::parameter_groups(accrue::parameters(accrue::master_weights{weights, copy}),
                                                     accrue::parameters(stochastic_rounding{many})),
                            accrue::per_sample{}, accrue::widened<double>{},
                            accrue::clip_by_global_norm{.max_norm = 1e9},
                            accrue::per_group{accrue::sgd{.learning_rate = 0.5}, accrue::sgd{.learning_rate = 0x1p-9}});
  train(group, 1, gradient, gradients);
  CHECK(values(copy)[7] == 1.5f);
  int up = 0;
  for (float const x : values(many[1])) {
    REQUIRE((x == 1.0f || x == 1.0f + 0x1p-7f));
    up += x > 1.0f ? 1 : 0;
  }
  CHECK(std::abs(up - 750) < 4 * 24);  // a quarter of 3000, four deviations
}

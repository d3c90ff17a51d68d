// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient noise scale of a problem whose noise is known exactly.
#include "support/host.hpp"

#include <accrue/accrue.hpp>
#include <accrue/doctor/gradient_noise.hpp>
#include <accrue/reduce/in_process_replicas.hpp>
#include <accrue/replicas.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <sstream>
#include <vector>

namespace {

using accrue::gradient_noise;
using accrue::mean_gradient;
using accrue::samples;

/// Linear regression with standard normal inputs: y = w x + noise of variance `variance`, at parameters that are off by
/// `delta` from w. The gradient of an example is x (x . delta - noise); by the moments of the normal distribution its
/// mean is delta, and the trace of its covariance (d + 1) |delta|^2 + d * variance.
class linear_problem {
 public:
  static constexpr std::size_t d = 6;
  using vector = std::array<double, d>;

  explicit linear_problem(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] static double signal() { return square(delta); }
  [[nodiscard]] static double noise() { return (d + 1) * signal() + d * variance; }
  [[nodiscard]] static double scale() { return noise() / signal(); }

  [[nodiscard]] vector mean_gradient_of(int examples) {
    vector mean{};
    for (int e = 0; e < examples; ++e) {
      vector x{};
      double error = -std::sqrt(variance) * normal();
      for (std::size_t i = 0; i < d; ++i) error += (x[i] = normal()) * delta[i];
      for (std::size_t i = 0; i < d; ++i) mean[i] += error * x[i] / examples;
    }
    return mean;
  }
  [[nodiscard]] static double square(vector const& v) {
    double sum = 0.0;
    for (double const each : v) sum += each * each;
    return sum;
  }

  /// Adds groups of `parts` microbatches of `examples` each.
  void feed(gradient_noise& to, int groups, int parts, int examples) {
    for (int g = 0; g < groups; ++g) {
      vector whole{};
      double squares = 0.0;
      for (int p = 0; p < parts; ++p) {
        vector const own = mean_gradient_of(examples);
        squares += square(own) / parts;
        for (std::size_t i = 0; i < d; ++i) whole[i] += own[i] / parts;
      }
      to.add(squares, examples, square(whole), parts * examples);
    }
  }

 private:
  static constexpr vector delta{0.5, -0.25, 0.125, 1.0, 0.0, -0.5};
  static constexpr double variance = 4.0;

  /// Box and Muller: the same numbers with every library.
  double normal() {
    auto const uniform = [&] { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; };
    double const radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
  std::mt19937_64 random_;
};

bool within(accrue::uncertain const& found, double exact, double errors) {
  CAPTURE(found.value);
  CAPTURE(found.error);
  CAPTURE(exact);
  return std::abs(found.value - exact) <= errors * found.error;
}

/// Rejects and measures microbatches under a loss scale of 2; clips nothing, but measures groups in this order.
auto group_of(Kokkos::View<double*> const& theta, double order = 2.0) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_sample{}, accrue::reject_microbatch{},
                             accrue::clip_by_global_norm{.max_norm = 1e6, .order = order},
                             accrue::constant_scale{.scale = 2.0}, accrue::sgd{.learning_rate = 0.0});
}

/// Replicas of the problem in one process, which hand over microbatches of 2 and 3 examples, 5 and 6, 8 and 9, ...
template <class... Policies>
class problem_on_replicas {
  using vector = Kokkos::View<double*>;
  static auto replica_of(vector const& theta, Policies const&... policies) {
    return accrue::accumulator(accrue::parameters(theta), accrue::per_sample{}, accrue::in_process_replicas<>{},
                               policies..., accrue::sgd{.learning_rate = 0.0});
  }
  linear_problem problem_;
  vector gradient_ = vector("gradient", linear_problem::d);

 public:
  std::vector<decltype(replica_of(vector(), std::declval<Policies>()...))> replicas;

  problem_on_replicas(std::uint64_t seed, int count, Policies const&... policies) : problem_(seed) {
    for (int r = 0; r < count; ++r) replicas.push_back(replica_of(vector("theta", linear_problem::d), policies...));
  }
  void fill_group() {
    int examples = 1;
    for (auto& each : replicas) {
      for (int m = 0; m < 2; ++m) {
        auto const own = problem_.mean_gradient_of(++examples);
        support::fill(gradient_, {own.begin(), own.end()});
        each.accumulate(mean_gradient{gradient_}, samples{examples});
      }
      ++examples;
    }
  }
};

void check_known_answer(gradient_noise const& noise) {
  CHECK(within(noise.noise(), linear_problem::noise(), 4.0));
  CHECK(within(noise.signal(), linear_problem::signal(), 4.0));
  CHECK(within(noise.scale(), linear_problem::scale(), 4.0));
  CHECK(noise.scale().error < 0.15 * noise.scale().value);  // else the claim is empty
}

}  // namespace

TEST_CASE("gradient noise: the estimates of one group are those of two batch sizes") {
  gradient_noise noise;
  CHECK(std::isnan(noise.scale().value));
  // |G_b|^2 = 3 + 8 / b, without any deviation.
  noise.add(3.0 + 8.0 / 2.0, 2.0, 3.0 + 8.0 / 16.0, 16.0);
  CHECK(noise.last().noise == doctest::Approx(8.0).epsilon(1e-14));
  CHECK(noise.last().signal == doctest::Approx(3.0).epsilon(1e-14));
  CHECK(noise.scale().value == doctest::Approx(8.0 / 3.0).epsilon(1e-14));
  CHECK(std::isnan(noise.scale().error));  // one group says nothing of its error
  CHECK(accrue::updates_over_fewest(8.0, 2.0) == 5.0);
  CHECK(accrue::examples_over_fewest(8.0, 2.0) == 1.25);
}

TEST_CASE("gradient noise: weights fall from group to group, and the error is that of a weighted mean") {
  gradient_noise noise(0.5);
  std::vector<double> const tr{4.0, 10.0, 1.0}, g{2.0, 1.0, 3.0}, w{0.25, 0.5, 1.0};
  for (std::size_t i = 0; i < 3; ++i) noise.add(g[i] + tr[i] / 1.0, 1.0, g[i] + tr[i] / 4.0, 4.0);
  long double all = 0, all2 = 0, sum_tr = 0, sum_g = 0;
  for (std::size_t i = 0; i < 3; ++i) all += w[i], all2 += w[i] * w[i], sum_tr += w[i] * tr[i], sum_g += w[i] * g[i];
  long double const ratio = sum_tr / sum_g, mean = sum_tr / all, least = 1 - all2 / (all * all);
  long double of_ratio = 0, of_mean = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    of_ratio += std::pow(w[i] * (tr[i] - ratio * g[i]), 2);
    of_mean += std::pow(w[i] * (tr[i] - mean), 2);
  }
  CHECK(noise.scale().value == doctest::Approx(double(ratio)).epsilon(1e-13));
  CHECK(noise.scale().error == doctest::Approx(double(std::sqrt(of_ratio / least) / sum_g)).epsilon(1e-13));
  CHECK(noise.noise().value == doctest::Approx(double(mean)).epsilon(1e-13));
  CHECK(noise.noise().error == doctest::Approx(double(std::sqrt(of_mean / least) / all)).epsilon(1e-13));
  CHECK(noise.signal().value == doctest::Approx(double(sum_g / all)).epsilon(1e-13));
}

TEST_CASE("gradient noise: a linear problem with normal noise has the scale that follows from its moments") {
  linear_problem problem(1);
  gradient_noise all(1.0), recent(0.99);
  problem.feed(all, 4000, 4, 8);
  problem.feed(recent, 4000, 4, 8);
  for (gradient_noise const& noise : {all, recent}) {
    CHECK(within(noise.noise(), linear_problem::noise(), 4.0));
    CHECK(within(noise.signal(), linear_problem::signal(), 4.0));
    CHECK(within(noise.scale(), linear_problem::scale(), 4.0));
  }
  CHECK(all.scale().error < 0.03 * all.scale().value);  // else the claim is empty
  CHECK(recent.scale().error > all.scale().error);
}

TEST_CASE("gradient noise: the stated error is the deviation that repeated runs have") {
  linear_problem problem(2);
  for (double const decay : {1.0, 0.995}) {
    double squares = 0.0;
    int inside = 0;
    constexpr int runs = 250;
    for (int run = 0; run < runs; ++run) {
      gradient_noise noise(decay);
      problem.feed(noise, 300, 4, 4);
      double const off = (noise.scale().value - linear_problem::scale()) / noise.scale().error;
      squares += off * off / runs;
      inside += std::abs(off) < 2.0 ? 1 : 0;
    }
    CAPTURE(decay);
    CAPTURE(squares);
    CHECK(squares > 0.8);  // 1 if the error is right
    CHECK(squares < 1.25);
    CHECK(inside > 0.92 * runs);  // 95.4 % of a normal distribution
    CHECK(inside < 0.99 * runs);
  }
}

TEST_CASE("gradient noise: an accumulator that rejects microbatches tells what it measured of them") {
  Kokkos::View<double*> const theta("theta", 1);
  auto const feed = [&](auto& group) {
    group.accumulate(mean_gradient{support::make_view<double>({2 * 3.0})}, samples{1});
    group.accumulate(mean_gradient{support::make_view<double>({2 * std::numeric_limits<double>::infinity()})},
                     samples{5});
    group.accumulate(mean_gradient{support::make_view<double>({2 * 7.0})}, samples{0});
    group.accumulate(mean_gradient{support::make_view<double>({2 * 1.0})}, samples{3});
    group.update();
    return group.ledger().records().back().own;
  };
  gradient_noise noise;
  auto group = group_of(theta);
  group.observe(std::ref(noise));
  accrue::own_gradients const own = feed(group);
  CHECK(own.mean_square == (9.0 + 1.0) / 2.0);
  CHECK(own.weight == 2.0 / (1.0 + 1.0 / 3.0));
  REQUIRE(noise.groups() == 1);
  CHECK(noise.last().noise == doctest::Approx((5.0 - 1.5 * 1.5) / (1.0 / 1.5 - 1.0 / 4.0)));  // G = (3 + 3 * 1) / 4
  CHECK(noise.last().signal == doctest::Approx((4.0 * 2.25 - 1.5 * 5.0) / (4.0 - 1.5)));
  std::ostringstream out;
  out << noise;
  CHECK(out.str().rfind("gradient noise scale 11 +- ", 0) == 0);

  group.accumulate(mean_gradient{support::make_view<double>({2.0})}, samples{3});
  group.update();
  CHECK(group.ledger().applied() == accrue::updates{2});
  CHECK(noise.groups() == 1);  // one microbatch says nothing

  gradient_noise by_hand;
  group.accumulate(mean_gradient{support::make_view<double>({2 * 3.0})}, samples{1});
  double const small = group.measure().norm;  // of the first microbatch alone
  group.accumulate(mean_gradient{support::make_view<double>({2 * 1.0})}, samples{3});
  group.update();
  accrue::record const whole = group.ledger().records().back();
  by_hand.add(small * small, 1.0, whole.norm * whole.norm, whole.weight);
  CHECK(by_hand.last().signal == (4.0 * 2.25 - 1.0 * 9.0) / (4.0 - 1.0));

  auto other = group_of(theta, 3.0);
  CHECK_FALSE(feed(other).measured());  // the group's norm is another one
}

TEST_CASE("gradient noise: the problem with a known answer through an accumulator, with microbatches of any size") {
  constexpr std::size_t d = linear_problem::d;
  Kokkos::View<double*> const theta("theta", d), gradient("gradient", d);
  auto group = group_of(theta);
  gradient_noise noise(1.0);
  group.observe(std::ref(noise));
  linear_problem problem(3);
  for (int m = 0; m < 3 * 2000; ++m) {
    int const examples = 1 + 3 * (m % 3);  // 1, 4, 7: a mean size of 4 instead of the harmonic one is off by far
    auto const own = problem.mean_gradient_of(examples);
    std::vector<double> scaled;
    for (double const each : own) scaled.push_back(2.0 * each);
    support::fill(gradient, scaled);
    group.accumulate(mean_gradient{gradient}, samples{examples});
    if (m % 3 == 2) group.update();
  }
  CHECK(group.ledger().applied() == accrue::updates{2000});
  CHECK(noise.groups() == 2000);
  CHECK(within(noise.noise(), linear_problem::noise(), 4.0));
  CHECK(within(noise.signal(), linear_problem::signal(), 4.0));
  CHECK(within(noise.scale(), linear_problem::scale(), 4.0));
  CHECK(noise.scale().error < 0.15 * noise.scale().value);
}

TEST_CASE("gradient noise: from what each of 2 and 4 replicas holds, the problem with a known answer") {
  for (int const count : {2, 4}) {
    CAPTURE(count);
    problem_on_replicas problem(4, count);
    auto& replicas = problem.replicas;
    gradient_noise noise(1.0);
    for (int g = 0; g < 2000; ++g) {
      problem.fill_group();
      std::vector<accrue::noise_part> parts;
      for (auto& each : replicas) {
        double const norm = each.measure().norm;  // before the sums become one: a read of them, and a fence
        parts.push_back({norm * norm, static_cast<double>(each.counts_held().samples.value())});
      }
      accrue::update_replicas(replicas);
      noise.add(parts, replicas.front().ledger().records().back());
    }
    CHECK(noise.groups() == 2000);
    check_known_answer(noise);
  }
}

TEST_CASE("gradient noise: where 2 and 4 replicas reject microbatches, those of all were measured, and each knows") {
  for (int const count : {2, 4}) {
    CAPTURE(count);
    problem_on_replicas problem(5, count, accrue::reject_microbatch{});
    gradient_noise of_first(1.0), of_last(1.0);
    problem.replicas.front().observe(std::ref(of_first));
    problem.replicas.back().observe(std::ref(of_last));
    for (int g = 0; g < 1000; ++g) {
      problem.fill_group();
      accrue::update_replicas(problem.replicas);
    }
    for (auto& each : problem.replicas) CHECK(each.ledger().applied() == accrue::updates{1000});
    CHECK(of_first.groups() == 1000);
    check_known_answer(of_first);
    CHECK(of_first.scale().value == of_last.scale().value);
  }
}

TEST_CASE("gradient noise: the parts of a group are those that weigh, and all of them") {
  gradient_noise noise, by_hand;
  accrue::record whole;
  whole.result = accrue::outcome::applied;
  whole.norm = 1.5;
  whole.weight = 4.0;
  using parts = std::vector<accrue::noise_part>;
  parts const right{{9.0, 1.0}, {0.0, 0.0}, {1.0, 3.0}};
  noise.add(right, whole);
  by_hand.add((9.0 + 1.0) / 2.0, 2.0 / (1.0 + 1.0 / 3.0), 2.25, 4.0);
  CHECK(noise.last().noise == by_hand.last().noise);
  CHECK(noise.last().signal == by_hand.last().signal);
  REQUIRE(noise.groups() == 1);
  noise.add(parts{{2.25, 4.0}, {0.0, 0.0}}, whole);  // a single one that weighs says nothing
  CHECK_THROWS_WITH_AS(noise.add(parts{{9.0, 1.0}}, whole), doctest::Contains("do not weigh"), accrue::error);
  whole.result = accrue::outcome::skipped_non_finite;
  noise.add(right, whole);
  CHECK(noise.groups() == 1);

  /// Two members, of which this is the second.
  struct two_members {
    using fills = accrue::slot::replicas;
    static int members() { return 2; }
    static void gather(std::byte const* mine, std::size_t size, std::byte* all) {
      accrue::field_writer other;
      accrue::noise_part first{9.0, 1.0};
      other(first);
      REQUIRE(size == other.bytes().size());
      std::memcpy(all, other.bytes().data(), size);
      std::memcpy(all + size, mine, size);
    }
  };
  whole.result = accrue::outcome::vetoed;
  noise.add(accrue::parts_of_members(two_members{}, {1.0, 3.0}), whole);
  CHECK(noise.groups() == 2);
  CHECK(noise.last().noise == by_hand.last().noise);
}

TEST_CASE("gradient noise: numbers that make no sense are refused, and change nothing") {
  for (double const decay : {0.0, -1.0, 1.5, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(gradient_noise{decay}, accrue::error);
  gradient_noise noise;
  double const bad = std::numeric_limits<double>::quiet_NaN(), endless = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(noise.add(1.0, 4.0, 1.0, 4.0), accrue::error);
  CHECK_THROWS_AS(noise.add(1.0, 0.0, 1.0, 4.0), accrue::error);
  CHECK_THROWS_AS(noise.add(1.0, 1.0, 1.0, endless), accrue::error);
  CHECK_THROWS_AS(noise.add(bad, 1.0, 1.0, 4.0), accrue::error);
  CHECK_THROWS_AS(noise.add(1.0, 1.0, endless, 4.0), accrue::error);
  CHECK_THROWS_AS(noise.add(-1.0, 1.0, 1.0, 4.0), accrue::error);
  CHECK(noise.groups() == 0);
  noise.add(1.0, 1.0, 2.0, 4.0);  // by chance the large batch has the larger norm
  noise.add(4.0, 1.0, 0.5, 4.0);
  CHECK(noise.signal().value < 1.0);
}

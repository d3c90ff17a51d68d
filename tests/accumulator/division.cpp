// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Early and running division give the update of the full batch, as late division does; they differ in what overflows.
#include "support/host.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

using accrue::early;
using accrue::late;
using accrue::mean_gradient;
using accrue::outcome;
using accrue::running;
using accrue::tokens;
using support::taken;

constexpr int microbatches_of_group = 7;
constexpr std::int64_t counts[microbatches_of_group] = {3, 0, 17, 1000, 1, 250, 4};
constexpr std::int64_t total = 1275;

/// Two parameters, and the gradients of `G` that seven microbatches have for them. The second one has none in the third
/// and the last microbatch, the first none in the fifth.
template <class T, class G = T>
struct batch {
  Kokkos::View<T*> a{"a", 37};
  Kokkos::View<T**> b{"b", 3, 5};
  std::vector<Kokkos::View<G*>> of_a;
  std::vector<Kokkos::View<G**>> of_b;

  batch() {
    for (int m = 0; m < microbatches_of_group; ++m) {
      of_a.emplace_back("gradient of a", 37), of_b.emplace_back("gradient of b", 3, 5);
      support::fill(of_a.back(), numbers(37, m)), support::fill(of_b.back(), numbers(15, m + 100));
    }
  }
  static auto numbers(int size, int m) {
    support::value_list<Kokkos::View<G*>> list;
    for (int i = 0; i < size; ++i)
      list.push_back(accrue::widen(accrue::narrow<G>(
          static_cast<accrue::accumulation_scalar_t<G>>(std::sin(1.0 + 7.0 * i + 31.0 * m) * (1 + m * m)))));
    return list;
  }
  static bool has_a(int m) { return m != 4; }
  static bool has_b(int m) { return m != 2 && m != 6; }

  /// sum of c * g / sum of c, in long double.
  [[nodiscard]] static std::vector<double> expected(double divisor) {
    std::vector<double> all;
    for (int which = 0; which < 2; ++which)
      for (std::size_t i = 0; i < (which == 0 ? 37U : 15U); ++i) {
        long double sum = 0;
        for (int m = 0; m < microbatches_of_group; ++m)
          if (which == 0 ? has_a(m) : has_b(m))
            sum += static_cast<long double>(counts[m]) *
                   static_cast<long double>(numbers(which == 0 ? 37 : 15, m + 100 * which)[i]);
        all.push_back(static_cast<double>(sum / static_cast<long double>(divisor)));
      }
    return all;
  }
  [[nodiscard]] std::vector<double> gradient() const {
    std::vector<double> all;
    for (auto const& x : taken(a)) all.push_back(static_cast<double>(x));
    for (auto const& x : taken(b)) all.push_back(static_cast<double>(x));
    return all;
  }

  /// Hands a microbatch over with those gradients that it has.
  template <class Group, class... Facts>
  void hand_over(Group& group, int m, Facts const&... facts) const {
    auto const at = static_cast<std::size_t>(m);
    if (!has_a(m))
      group.accumulate(mean_gradient{accrue::no_gradient, of_b[at]}, facts...);
    else if (!has_b(m))
      group.accumulate(mean_gradient{of_a[at], accrue::no_gradient}, facts...);
    else
      group.accumulate(mean_gradient{of_a[at], of_b[at]}, facts...);
  }

  template <class... Policies>
  auto group(Policies... policies) const {
    return accrue::accumulator(accrue::parameters(a, b), policies..., accrue::sgd{.learning_rate = 1.0});
  }
};

/// The largest difference, in units of the largest expected number.
double apart(std::vector<double> const& found, std::vector<double> const& expected) {
  REQUIRE(found.size() == expected.size());
  double most = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    most = std::fmax(most, std::fabs(found[i] - expected[i]));
    largest = std::fmax(largest, std::fabs(expected[i]));
  }
  return most / largest;
}
template <class T>
constexpr double rounding = std::is_same_v<T, double> ? 1e-14 : 2e-6;

template <class T, class G = T>
struct scalars {
  using parameter = T;
  using gradient = G;
};

}  // namespace

TEST_CASE_TEMPLATE("every division gives the full batch, for unequal counts and parameters that are not always touched",
                   S, scalars<float>, scalars<double>, scalars<float, accrue::bfloat16>) {
  using T = typename S::parameter;
  batch<T, typename S::gradient> const data;
  auto const agrees = [&](auto division, auto... more) {
    auto group = data.group(accrue::per_token{}, division, more...);
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (int m = 0; m < microbatches_of_group; ++m) data.hand_over(group, m, tokens{counts[m]});
      double const norm = group.measure().norm;
      REQUIRE(group.update() == outcome::applied);
      CHECK(apart(data.gradient(), data.expected(total)) < rounding<T>);
      CHECK(group.ledger().records().back().norm == doctest::Approx(norm).epsilon(rounding<T>));
    }
    auto const records = group.ledger().records();
    CHECK(records[1].weight == total);
    CHECK(records[0].norm == records[1].norm);
  };
  agrees(late{});
  agrees(running{});
  agrees(early{tokens{total}});
  agrees(running{}, accrue::gather<2>{});
  agrees(early{tokens{total}}, accrue::gather<2>{});
}

TEST_CASE("every division agrees under every normalization") {
  batch<double> const data;
  auto const agrees = [&](auto normalization, auto announced, double divisor, auto const& facts_of) {
    auto const one = [&](auto division) {
      auto group = data.group(normalization, division);
      for (int m = 0; m < microbatches_of_group; ++m) data.hand_over(group, m, facts_of(m));
      REQUIRE(group.update() == outcome::applied);
      return data.gradient();
    };
    auto const expected = one(late{});
    if (divisor > 0.0) CHECK(apart(expected, data.expected(divisor)) < 1e-14);
    CHECK(apart(one(running{}), expected) < 1e-14);
    CHECK(apart(one(early{announced}), expected) < 1e-14);
  };
  agrees(accrue::per_sample{}, accrue::samples{total}, total, [](int m) { return accrue::samples{counts[m]}; });
  agrees(accrue::per_microbatch{}, accrue::microbatches{6}, 0.0, [](int m) { return tokens{counts[m]}; });
  agrees(accrue::weighted{}, accrue::weight{127.5}, total,
         [](int m) { return accrue::weight{0.1 * static_cast<double>(counts[m])}; });
}

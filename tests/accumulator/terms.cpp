// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Named terms: G is the sum of the terms, each over its own weight, under late and under early division.
#include "support/host.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

struct lm {
  static constexpr std::string_view name = "lm";
};
struct aux {};
struct value {};

using accrue::early;
using accrue::late;
using accrue::mean_gradient;
using accrue::of;
using accrue::outcome;
using accrue::term;
using accrue::tokens;
using support::make_view;
using support::taken;

auto three_terms() {
  return accrue::terms(term<lm>(accrue::per_token{}), term<aux>(accrue::per_microbatch{}, 0.125),
                       term<value>(accrue::per_sample{}, -0.5));
}
/// Five microbatches. The first parameter has no gradient of `value`, the second none of `lm` in the third one; `aux`
/// is not given in the second, `value` in the first and last.
constexpr int number_of_microbatches = 5;
constexpr std::int64_t tokens_of[] = {3, 500, 17, 1, 64};
constexpr std::int64_t samples_of[] = {1, 2, 3, 4, 5};

template <class T, class G>
struct batch {
  Kokkos::View<T*> a{"a", 37};
  Kokkos::View<T**, Kokkos::LayoutLeft> b{"b", 3, 5};

  static double number(int term, int m, bool second, std::size_t i) {
    auto const rough = static_cast<accrue::accumulation_scalar_t<G>>(
        std::sin(1.0 + 7.0 * static_cast<double>(i) + 31.0 * m + 57.0 * term + (second ? 11.0 : 0.0)) * (1 + m));
    return static_cast<double>(accrue::widen(accrue::narrow<G>(rough)));
  }
  static Kokkos::View<G*> of_a(int term, int m) {
    Kokkos::View<G*> const view("gradient of a", 37);
    support::value_list<Kokkos::View<G*>> list(37);
    for (std::size_t i = 0; i < 37; ++i)
      list[i] = static_cast<accrue::accumulation_scalar_t<G>>(number(term, m, false, i));
    support::fill(view, list);
    return view;
  }
  static Kokkos::View<G**> of_b(int term, int m) {
    Kokkos::View<G**> const view("gradient of b", 3, 5);
    support::value_list<Kokkos::View<G**>> list(15);
    for (std::size_t i = 0; i < 15; ++i)
      list[i] = static_cast<accrue::accumulation_scalar_t<G>>(number(term, m, true, i));
    support::fill(view, list);
    return view;
  }
  static bool has(int term, int m, bool second) {
    if (term == 0) return !(second && m == 2);
    if (term == 1) return m != 1;
    return second && m != 0 && m != 4;
  }
  static double count(int term, int m) {
    if (term == 1) return m == 1 ? 0.0 : 1.0;
    if (term == 2) return m == 0 || m == 4 ? 0.0 : static_cast<double>(samples_of[m]);
    return static_cast<double>(tokens_of[m]);
  }

  /// sum over terms of coefficient * (sum of c * g) / (sum of c), in long double.
  static std::vector<double> expected(int until = number_of_microbatches) {
    constexpr long double coefficient[] = {1.0L, 0.125L, -0.5L};
    std::vector<double> all;
    for (bool const second : {false, true})
      for (std::size_t i = 0; i < (second ? 15U : 37U); ++i) {
        long double gradient = 0;
        for (int t = 0; t < 3; ++t) {
          long double sum = 0, weight = 0;
          for (int m = 0; m < until; ++m) {
            weight += static_cast<long double>(count(t, m));
            if (has(t, m, second))
              sum += static_cast<long double>(count(t, m)) * static_cast<long double>(number(t, m, second, i));
          }
          if (weight > 0) gradient += coefficient[t] * sum / weight;
        }
        all.push_back(static_cast<double>(gradient));
      }
    return all;
  }

  template <class Group>
  static void hand_over(Group& group, int m) {
    auto const first = [&](auto const&... more) {
      if (m == 2)
        group.accumulate(of<lm>(mean_gradient{of_a(0, m), accrue::no_gradient}), more..., tokens{tokens_of[m]},
                         accrue::samples{samples_of[m]});
      else
        group.accumulate(of<lm>(mean_gradient{of_a(0, m), of_b(0, m)}), more..., tokens{tokens_of[m]},
                         accrue::samples{samples_of[m]});
    };
    mean_gradient const of_aux{of_a(1, m), of_b(1, m)};
    mean_gradient const of_value{accrue::no_gradient, of_b(2, m)};
    if (m == 0 || m == 4)
      first(of<aux>(of_aux));
    else if (m == 1)
      first(of<value>(of_value));
    else
      first(of<value>(of_value), of<aux>(of_aux));
  }
};

double norm_of(std::vector<double> const& numbers) {
  long double sum = 0;
  for (double const x : numbers) sum += static_cast<long double>(x) * x;
  return static_cast<double>(std::sqrt(sum));
}
template <class T, class G = T>
struct scalars {
  using parameter = T;
  using gradient = G;
};

}  // namespace

TEST_CASE_TEMPLATE("the gradient is the sum of the terms, each over its own weight, and the clip bounds that sum", S,
                   scalars<float>, scalars<double>, scalars<float, accrue::bfloat16>) {
  using T = typename S::parameter;
  using data = batch<T, typename S::gradient>;
  data const all;
  double const rounding = std::is_same_v<T, double> ? 1e-14 : 2e-6;
  auto const agrees = [&](auto division, bool as_it_stands) {
    accrue::accumulator group(accrue::parameters(all.a, all.b), three_terms(), accrue::every{5}, division,
                              accrue::clip_by_global_norm{.max_norm = 1.0}, accrue::sgd{.learning_rate = 1.0});
    auto const expected = data::expected();
    double const norm = norm_of(expected);
    REQUIRE(norm > 2.0);
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (int m = 0; m < 5; ++m) {
        data::hand_over(group, m);
        if (m != 2 || !as_it_stands) continue;
        CHECK(group.measure().norm == doctest::Approx(norm_of(data::expected(3))).epsilon(rounding));
        auto const seen = group.template snapshot<1>();
        CHECK(double(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, seen)(1, 2)) ==
              doctest::Approx(data::expected(3)[37 + 1 * 5 + 2]).epsilon(rounding).scale(1.0));
      }
      REQUIRE(group.full());
      REQUIRE(group.update() == outcome::applied);
      std::vector<double> found;
      for (auto const& x : taken(all.a)) found.push_back(static_cast<double>(x));
      for (auto const& x : taken(all.b)) found.push_back(static_cast<double>(x));
      for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(found[i] == doctest::Approx(expected[i] / norm).epsilon(rounding).scale(1.0));
      accrue::record const last = group.ledger().records().back();
      CHECK(last.norm == doctest::Approx(norm).epsilon(rounding));
      CHECK(last.terms == 3);
      CHECK(last.term_weights[0] == 585);
      CHECK(last.term_weights[1] == 4);
      CHECK(last.term_weights[2] == 9);
    }
  };
  agrees(late{}, true);
  agrees(early{tokens{585}, accrue::microbatches{4}, accrue::samples{9}}, false);
}

TEST_CASE("more terms than one pass adds, a parameter that only some touch, and one that none does") {
  Kokkos::View<double*> const theta("theta", 2), other("other", 2), idle("idle", 1);
  auto const numbered = [&]<int... N>(std::integer_sequence<int, N...>) {
    return accrue::terms(term<std::integral_constant<int, N>>(accrue::per_microbatch{}, 1.0 + N)...);
  };
  accrue::accumulator group(accrue::parameters(theta, other, idle), numbered(std::make_integer_sequence<int, 8>{}),
                            accrue::sgd{.learning_rate = 1.0});
  auto const give = [&]<int... N>(std::integer_sequence<int, N...>) {
    group.accumulate(of<std::integral_constant<int, N>>(
        mean_gradient{make_view<double>({1.0, double(1 << N)}), accrue::no_gradient, accrue::no_gradient})...);
  };
  give(std::make_integer_sequence<int, 8>{});
  group.accumulate(of<std::integral_constant<int, 6>>(
      mean_gradient{accrue::no_gradient, make_view<double>({1.0, 3.0}), accrue::no_gradient}));
  REQUIRE(group.update() == outcome::applied);
  double const halved = 7.0 / 2.0;  // the seventh term weighs two microbatches
  CHECK(taken(theta) == std::vector<double>{36 - halved, 1793 - halved * 64});
  CHECK(taken(other) == std::vector<double>{halved, 3 * halved});
  CHECK(group.ledger().records()[0].norm ==
        doctest::Approx(norm_of({36 - halved, 1793 - halved * 64, halved, 3 * halved})).epsilon(1e-14));
}

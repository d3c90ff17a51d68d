// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Named terms: G is the sum of the terms, each over its own weight, under late and under early division.
#include "support/host.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
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
using accrue::mean_loss;
using accrue::of;
using accrue::outcome;
using accrue::sum_gradient;
using accrue::sum_loss;
using accrue::term;
using accrue::tokens;
using exec = Kokkos::DefaultExecutionSpace;
using support::make_view;
using support::taken;
using vector = Kokkos::View<float*>;
vector one(float number) { return make_view<float>({number}); }

auto three_terms() {
  return accrue::terms(term<lm>(accrue::per_token{}), term<aux>(accrue::per_microbatch{}, 0.125),
                       term<value>(accrue::per_sample{}, -0.5));
}
template <class... Policies>
auto group_of(vector const& theta, Policies... policies) {
  return accrue::accumulator(accrue::parameters(theta), policies..., accrue::sgd{.learning_rate = 1.0});
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

TEST_CASE("a term without weight adds nothing and is reported, and spoils nothing, be it NaN") {
  vector const theta("theta", 1);
  auto group = group_of(theta, three_terms());
  auto const nan = one(support::not_a_number<float>);
  group.accumulate(of<lm>(mean_gradient{one(4)}, mean_loss{3.0}), tokens{2});
  group.accumulate(of<value>(mean_gradient{nan}, mean_loss{std::nan("")}), accrue::samples{0});
  REQUIRE(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{4});
  accrue::record const last = group.ledger().records().back();
  CHECK(last.loss == 3.0);
  CHECK(last.counts.ignored_microbatches == accrue::microbatches{1});
  CHECK(std::vector<double>(last.term_weights.begin(), last.term_weights.begin() + 3) == std::vector<double>{2, 0, 0});
  std::ostringstream text, table;
  text << last;
  CHECK(text.str() == "group 1: applied, 2 microbatches, weight 2 + 0 + 0, norm 4, clip factor 1, loss 3");
  accrue::write_csv_row(table, last);
  CHECK(table.str() == "1,applied,2,1,0,2,0,0,2,4,1,3,2;0;0\n");

  // The first term may be the one without weight; and its sums of the group before are forgotten.
  group.accumulate(of<aux>(mean_gradient{one(8)}));
  group.accumulate(of<lm>(mean_gradient{nan}, tokens{0}), of<aux>(mean_gradient{one(24)}), tokens{5});
  REQUIRE(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{2});  // an eighth of (8 + 24) / 2
  CHECK(group.ledger().records().back().weight == 0.0);
  CHECK(group.ledger().records().back().norm == 2.0);
  CHECK(group.ledger().tokens() == tokens{7});  // the count inside is that of the term, the one outside the ledger's

  group.accumulate(of<lm>(mean_gradient{nan}), of<aux>(mean_gradient{nan}), tokens{0});
  CHECK(group.update() == outcome::empty);
  group.accumulate(of<lm>(mean_gradient{one(1)}), of<aux>(mean_gradient{nan}), tokens{1});
  CHECK(group.update() == outcome::skipped_non_finite);
  CHECK(taken(theta) == std::vector<float>{0});
}

TEST_CASE("the loss is formed as the gradient is, of numbers and of what lies on the device") {
  vector const theta("theta", 1);
  Kokkos::View<double> const on_device("loss");
  Kokkos::deep_copy(on_device, 10.0);
  auto const loss = [&](auto division, auto const& of_value) {
    auto group = group_of(theta, three_terms(), division);
    group.accumulate(of<lm>(sum_gradient{one(1)}, sum_loss{6.0}), of<aux>(mean_gradient{one(1)}, mean_loss{on_device}),
                     tokens{3});
    group.accumulate(of<lm>(mean_gradient{one(1)}, mean_loss{4.0}), of_value, tokens{1}, accrue::samples{5});
    group.update();
    return group.ledger().records().back().loss;
  };
  double const expected = (6.0 + 4.0) / 4 + 0.125 * 10.0 - 0.5 * 2.0;
  early const announced{tokens{4}, accrue::microbatches{1}, accrue::samples{5}};
  CHECK(loss(late{}, of<value>(mean_gradient{one(1)}, mean_loss{2.0})) == expected);
  CHECK(loss(announced, of<value>(mean_gradient{one(1)}, mean_loss{2.0})) == expected);
  CHECK(loss(late{}, of<value>(mean_gradient{one(1)})) == std::nullopt);
}

TEST_CASE("rows, gradients that a producer writes, and a padded last group come in terms as well") {
  Kokkos::View<float**> const theta("theta", 3, 2), filled("gradient", 3, 2), row("row", 1, 2);
  Kokkos::View<int*> const last_row("index", 1);
  Kokkos::deep_copy(filled, 4.0f), Kokkos::deep_copy(row, 8.0f), Kokkos::deep_copy(last_row, 2);
  auto const check = [&](auto division) {
    accrue::accumulator group(accrue::parameters(theta), three_terms(), division, accrue::every{4}, accrue::pad_last{},
                              accrue::sgd{.learning_rate = 1.0});
    group.accumulate(of<lm>(mean_gradient{filled}), of<aux>(mean_gradient{accrue::rows(last_row, row)}), tokens{1});
    group.accumulate(of<lm>(mean_gradient{accrue::rows(last_row, row)}),
                     of<value>(accrue::sum_written_by{[&](exec const& instance, auto const& target) {
                       if (target.beta() == 0.0)
                         Kokkos::deep_copy(instance, target.sums(), static_cast<float>(-8.0 * target.weight()));
                       else
                         Kokkos::parallel_for(Kokkos::RangePolicy<exec>(instance, 0, 0), [](int) {});
                     }}),
                     tokens{3}, accrue::samples{2});
    REQUIRE(group.end_of_data() == outcome::applied);  // of two microbatches instead of four: half
    float const others = 0.5f * (4.0f * 1 / 4);
    return std::pair(taken(theta), std::vector<float>{others, others, others, others, others + 0.5f * (6 + 1),
                                                      others + 0.5f * (6 + 1)});
  };
  auto [found, expected] = check(late{});
  for (float& each : expected) each += 0.5f * (-0.5f * -8.0f / 2);
  CHECK(found == expected);
}

TEST_CASE("under the sum objective the terms are added with their coefficients") {
  vector const theta("theta", 1);
  auto group = group_of(theta, three_terms(), accrue::sum_objective{});
  group.accumulate(of<lm>(sum_gradient{one(3)}), of<aux>(sum_gradient{one(16)}));
  group.accumulate(of<lm>(mean_gradient{one(2)}), of<value>(sum_gradient{one(4)}), tokens{5});
  REQUIRE(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{3 + 10 + 2 - 2});
}

TEST_CASE("a term that weighs other than announced is refused, and a producer that throws gives the group up") {
  vector const theta("theta", 1);
  auto group = group_of(theta, three_terms(), early{tokens{4}, accrue::microbatches{2}, accrue::samples{0}});
  group.accumulate(of<lm>(mean_gradient{one(4)}), of<aux>(mean_gradient{one(8)}), tokens{4});
  CHECK_THROWS_WITH_AS(group.update(), doctest::Contains("the group weighs 1, and 2 was announced (microbatches)"),
                       accrue::error);
  CHECK_THROWS_WITH_AS(group.accumulate(of<aux>(mean_gradient{one(8)}), of<lm>(mean_gradient{one(4)}), tokens{1}),
                       doctest::Contains("would weigh 5, and 4 was announced (tokens)"), accrue::error);
  CHECK(group.held() == accrue::microbatches{1});
  group.accumulate(of<aux>(mean_gradient{one(24)}));
  REQUIRE(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{4 + 2});

  auto other = group_of(theta, three_terms());
  CHECK_THROWS_AS(
      other.accumulate(of<lm>(mean_gradient{one(4)}), of<aux>(accrue::mean_written_by{[](exec const&, auto const&) {
                         throw std::runtime_error("no");
                       }}),
                       tokens{4}),
      std::runtime_error);
  CHECK(other.held() == accrue::microbatches{0});
  CHECK_THROWS_AS(
      other.accumulate(of<lm>(mean_gradient{one(4)}), of<aux>(mean_gradient{make_view<float>({1, 2})}), tokens{4}),
      accrue::error);  // checked before anything is added
  other.accumulate(of<lm>(mean_gradient{one(4)}), tokens{4});
  auto moved = std::move(other);
  REQUIRE(moved.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{4});
}

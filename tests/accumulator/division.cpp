// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Early and running division give the update of the full batch, as late division does; they differ in what overflows.
#include "support/host.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using accrue::early;
using accrue::late;
using accrue::mean_gradient;
using accrue::outcome;
using accrue::running;
using accrue::sum_gradient;
using accrue::tokens;
using exec = Kokkos::DefaultExecutionSpace;
using support::make_view;
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

using range = Kokkos::RangePolicy<exec>;
template <class Adder>
struct add_to_each {
  Adder add;
  float value;
  KOKKOS_FUNCTION void operator()(int i) const { add(value, i / 2, i % 2); }
};
template <class Adder>
add_to_each(Adder, float) -> add_to_each<Adder>;

using vector = Kokkos::View<float*>;
template <class... Policies>
auto one_number(Kokkos::View<float*> theta, Policies... policies) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_token{}, policies...,
                             accrue::sgd{.learning_rate = 1.0});
}

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
  agrees(accrue::weighted{}, accrue::weight{127.5}, total, [](int m) { return accrue::weight{0.1 * counts[m]}; });
}

TEST_CASE("gradients that are lent, adopted, written through or rows are divided as well") {
  Kokkos::View<float**> const theta("theta", 3, 2);
  auto const filled = [](float value) {
    Kokkos::View<float**> const view("gradient", 3, 2);
    Kokkos::deep_copy(view, value);
    return view;
  };
  auto const mixed = [&](auto division) {
    accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::gather<2>{}, division,
                              accrue::sgd{.learning_rate = 1.0});
    auto const four = [&](auto const& first) {
      first();
      group.accumulate(mean_gradient{filled(2.0f)}, tokens{3});  // held, when the weight grows
      CHECK(group.template snapshot<0>()(2, 1) == (5.0f * 1 + 2.0f * 3) / 4);
      group.accumulate(accrue::mean_written_by{[](exec const& instance, auto const& target) {
                         Kokkos::parallel_for(range(instance, 0, 6), add_to_each{target.adder(), 8.0f});
                       }},
                       tokens{4});
      Kokkos::View<float**> const row("row", 1, 2);
      Kokkos::View<int*> const third("index", 1);
      Kokkos::deep_copy(row, 16.0f), Kokkos::deep_copy(third, 2);
      group.accumulate(mean_gradient{accrue::rows(third, row)}, tokens{8});
      REQUIRE(group.update() == outcome::applied);
      float const others = (5.0f * 1 + 2.0f * 3 + 8.0f * 4) / 16;
      CHECK(taken(theta) == std::vector<float>{others, others, others, others, others + 8, others + 8});
    };
    four([&] {
      auto const [lent] = group.next_gradients();
      Kokkos::deep_copy(lent, 5.0f);
      group.accumulate(mean_gradient{lent}, tokens{1});
    });
    four([&] { group.adopt(mean_gradient{filled(5.0f)}, tokens{1}); });
  };
  mixed(late{});
  mixed(running{});
  mixed(early{tokens{16}});
}

TEST_CASE("a short last group that is padded, and a microbatch that is clipped, are divided as ever") {
  vector const theta("theta", 1);
  auto const padded = [&](auto division) {
    auto group = one_number(theta, accrue::every{4}, accrue::pad_last{}, division);
    group.accumulate(sum_gradient{make_view<float>({8})}, tokens{2}, accrue::sum_loss{3.0});
    group.accumulate(mean_gradient{make_view<float>({4})}, tokens{6}, accrue::mean_loss{4.0});
    REQUIRE(group.end_of_data() == outcome::applied);
    CHECK(taken(theta) == std::vector<float>{2});  // (8 + 24) / (8 * 4 / 2)
    CHECK(group.ledger().records().back().loss == 27.0 / 8.0);
    CHECK(group.ledger().records().back().norm == 2.0);
  };
  padded(late{}), padded(running{}), padded(early{tokens{8}});

  auto const clipped = [&](auto division, auto clip) {
    auto group = one_number(theta, accrue::on_microbatch(clip), division);
    group.accumulate(sum_gradient{make_view<float>({16})}, tokens{2});   // a mean of 8, bounded to 4
    group.accumulate(mean_gradient{make_view<float>({-2})}, tokens{6});  // within the bound
    REQUIRE(group.update() == outcome::applied);
    CHECK(taken(theta) == std::vector<float>{(4.0f * 2 - 2.0f * 6) / 8});
  };
  accrue::clip_by_global_norm const by_norm{.max_norm = 4.0};
  clipped(late{}, by_norm), clipped(running{}, by_norm), clipped(early{tokens{8}}, by_norm);
  clipped(running{}, accrue::clip_by_value{.max_value = 4.0});
}

TEST_CASE("P-002 an announced weight is divided by once") {
  vector const theta("theta", 1);
  auto group = one_number(theta, early{tokens{8}});
  for (int i = 0; i < 4; ++i) group.accumulate(sum_gradient{make_view<float>({8})}, tokens{2});
  group.update();
  CHECK(taken(theta) == std::vector<float>{4});  // divided by 4 once more: 1
}

TEST_CASE("where the sum overflows and the mean does not, late division skips the group, the others apply it") {
  vector const theta("theta", 1);
  auto const gradient = make_view<float>({1e30f});
  auto const result = [&](auto division) {
    auto group = one_number(theta, division);
    group.accumulate(mean_gradient{gradient}, tokens{1000000000});
    group.accumulate(mean_gradient{gradient}, tokens{3000000000});
    return std::pair(group.update() == outcome::applied, taken(theta)[0]);
  };
  CHECK(result(late{}) == std::pair(false, 0.0f));  // 4e39, and a float ends at 3.4e38
  CHECK(result(running{}).first);
  CHECK(result(running{}).second == support::about<float>(1e30));
  CHECK(result(early{tokens{4000000000}}).second == support::about<float>(1e30));
}

TEST_CASE("the smallest number of 16 bits does not vanish beside the largest weight") {
  vector const theta("theta", 1);
  Kokkos::View<accrue::float16*> const tiny("tiny", 1), zero("zero", 1);
  accrue::float16 const smallest = accrue::narrow<accrue::float16>(std::ldexp(1.0f, -24));
  Kokkos::deep_copy(tiny, smallest);
  std::int64_t const most = (std::int64_t{1} << 62);
  auto const result = [&](auto division) {
    auto group = one_number(theta, division);
    group.accumulate(mean_gradient{tiny}, tokens{1});
    group.accumulate(mean_gradient{zero}, tokens{most - 1});
    REQUIRE(group.update() == outcome::applied);
    return taken(theta)[0];
  };
  float const expected = std::ldexp(1.0f, -24 - 62);
  CHECK(result(late{}) == expected);
  CHECK(result(running{}) == expected);
  CHECK(result(early{tokens{most}}) == expected);
}

TEST_CASE("a weight that is not the announced one is refused with both numbers, and the group stays open") {
  vector const theta("theta", 1);
  auto const one = make_view<float>({1});
  auto group = one_number(theta, early{tokens{10}}, accrue::keep_last{}, accrue::every{3});
  auto const refusal = [](auto const& call) {
    try {
      call();
    } catch (accrue::error const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  group.accumulate(mean_gradient{one}, tokens{4});
  CHECK(refusal([&] { group.update(); }).find("weighs 4, and 10 was announced (tokens)") != std::string::npos);
  CHECK(refusal([&] { group.end_of_data(); }).find("weighs 4, and 10 was announced") != std::string::npos);
  CHECK(refusal([&] { group.accumulate(mean_gradient{one}, tokens{7}); }).find("would weigh 11, and 10 was") !=
        std::string::npos);
  CHECK(refusal([&] { group.change_division(early{tokens{4}}); }).find("inside of a group") != std::string::npos);
  CHECK(group.held() == accrue::microbatches{1});
  CHECK(group.ledger().tokens() == tokens{4});

  group.accumulate(mean_gradient{make_view<float>({6})}, tokens{6});
  CHECK(group.measure().norm == support::about<float>(4.0));
  CHECK(group.update() == outcome::applied);
  CHECK(taken(theta)[0] == support::about<float>(4.0));

  group.change_division(early{tokens{2}});
  group.accumulate(mean_gradient{one}, tokens{1});
  CHECK(group.measure().norm == 1.0);  // of what is there, over what is there
  group.discard();                     // gives it up
  group.accumulate(mean_gradient{one}, tokens{2});
  CHECK(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{1});

  group.change_division(early{tokens{0}});
  group.accumulate(mean_gradient{one}, tokens{0});
  CHECK(group.update() == outcome::empty);

  std::ostringstream text;
  text << group.policies();
  CHECK(text.str().find("early{tokens=0}") != std::string::npos);
}

TEST_CASE("announced weights that are real numbers may differ by the rounding of their sum") {
  vector const theta("theta", 1);
  auto const one = make_view<float>({1});
  accrue::accumulator group(accrue::parameters(theta), accrue::weighted{}, early{accrue::weight{0.3}},
                            accrue::sgd{.learning_rate = 1.0});
  for (int i = 0; i < 3; ++i) group.accumulate(mean_gradient{one}, accrue::weight{0.1});  // 0.30000000000000004
  CHECK(group.update() == outcome::applied);
  CHECK_THROWS_AS(group.accumulate(mean_gradient{one}, accrue::weight{0.3001}), accrue::error);
}

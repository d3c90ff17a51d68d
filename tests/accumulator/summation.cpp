// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Groups under the summations that carry more than the sums. Compiled under -ffast-math as well, see tests/fast_math.
#include "support/host.hpp"

#include <accrue/accumulate/compensated.hpp>
#include <accrue/accumulate/order_independent.hpp>
#include <accrue/accumulator.hpp>
#include <accrue/finalize/clip_by_global_norm.hpp>
#include <accrue/update/sgd.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

using namespace accrue;
using support::make_view;
using support::taken;
using support::values;

namespace {

using floats = Kokkos::View<float*>;
using doubles = Kokkos::View<double*>;
using complexes = Kokkos::View<Kokkos::complex<float>*>;
using exec = floats::execution_space;

template <class Summation, class View>
auto summed(View const& theta) {
  return accumulator(parameters(theta), per_microbatch{}, sum_objective{}, Summation{}, sgd{.learning_rate = 1.0});
}
template <class T, class Group>
void add_times(int times, Group& group, T gradient) {
  auto const view = make_view<T>({widen(gradient)});
  for (int i = 0; i < times; ++i) group.accumulate(sum_gradient{view});
}

/// What an update leaves, to the last bit.
struct outcome_bits {
  std::vector<std::uint64_t> all;
  void add(double x) { all.push_back(std::bit_cast<std::uint64_t>(x)); }
  template <class View>
  void add_values(View const& view) {
    for (auto const& x : values(view)) {
      if constexpr (is_complex_v<std::remove_cvref_t<decltype(x)>>)
        add(x.real()), add(x.imag());
      else
        add(x);
    }
  }
  friend bool operator==(outcome_bits const&, outcome_bits const&) = default;
};

constexpr std::size_t length = 2 * 8 + 5;  // lanes and a tail

/// Contributions of every kind, to parameters of three scalars; some name only some of them.
class contributions {
 public:
  explicit contributions(std::mt19937_64& engine) {
    std::normal_distribution<double> normal;
    std::uniform_int_distribution<int> exponent(-20, 20);
    auto const number = [&] { return std::ldexp(normal(engine), exponent(engine)); };
    for (std::size_t n = 0; n < count; ++n) {
      Kokkos::View<float**, Kokkos::LayoutLeft> const matrix("matrix", 3, length);
      Kokkos::View<float16*> const half("half", length);
      Kokkos::View<bfloat16*> const brain("brain", length);
      doubles const wide("wide", length);
      complexes const complex("complex", length);
      for (std::size_t i = 0; i < length; ++i) {
        matrix(1, i) = static_cast<float>(number());
        half(i) = float16(static_cast<float>(normal(engine)));
        brain(i) = bfloat16(static_cast<float>(i % 3 == 0 ? 0.0 : number()));
        wide(i) = number();
        complex(i) = Kokkos::complex<float>(static_cast<float>(number()), static_cast<float>(number()));
      }
      strided_.push_back(Kokkos::subview(matrix, 1, Kokkos::ALL));
      dense_.push_back(make_view<float>(values(strided_.back())));
      half_.push_back(half), brain_.push_back(brain), wide_.push_back(wide), complex_.push_back(complex);
      weights_.push_back(std::abs(number()) + 1e-9);
      losses_.push_back(number());
    }
  }
  static constexpr std::size_t count = 10;

  /// Adds number n in a way that depends on it alone.
  template <class Group>
  void add(Group& group, std::size_t n) const {
    weight const w(weights_[n]);
    mean_loss const loss(losses_[n]);
    if (n % 5 == 0) group.accumulate(mean_gradient{dense_[n], wide_[n], complex_[n]}, w, loss);
    if (n % 5 == 1) group.accumulate(mean_gradient{strided_[n], no_gradient, complex_[n]}, w, loss);
    if (n % 5 == 2) group.accumulate(mean_gradient{half_[n], dense_[n], no_gradient}, w, loss);
    if (n % 5 == 3) group.accumulate(sum_gradient{brain_[n], wide_[n], complex_[n]}, w, loss);
    if (n % 5 == 4) group.accumulate(sum_gradient{dense_[n], strided_[n], complex_[n]}, w, loss);
  }

 private:
  std::vector<Kokkos::View<float*, Kokkos::LayoutStride>> strided_;
  std::vector<floats> dense_;
  std::vector<Kokkos::View<float16*>> half_;
  std::vector<Kokkos::View<bfloat16*>> brain_;
  std::vector<doubles> wide_;
  std::vector<complexes> complex_;
  std::vector<double> weights_, losses_;
};

/// Runs groups of all contributions in these orders, and says whether every one leaves the same bits as `expected`.
template <class... More>
void check_orders(exec const& instance, contributions const& all, std::vector<std::vector<std::size_t>> const& orders,
                  outcome_bits& expected, More... more) {
  floats const a("a", length);
  doubles const b("b", length);
  complexes const c("c", length);
  accumulator group(instance, parameters(a, b, c), weighted{}, clip_by_global_norm{.max_norm = 0.5},
                    order_independent{}, sgd{.learning_rate = 1.0}, more...);
  for (auto const& order : orders) {
    Kokkos::deep_copy(a, 0.0f), Kokkos::deep_copy(b, 0.0), Kokkos::deep_copy(c, Kokkos::complex<float>{});
    for (std::size_t n : order) all.add(group, n);
    REQUIRE(group.update() == outcome::applied);
    outcome_bits found;
    found.add_values(a), found.add_values(b), found.add_values(c);
    record const last = group.ledger().records().back();
    found.add(last.norm), found.add(last.weight), found.add(last.loss.value());
    if (expected.all.empty()) expected = found;
    REQUIRE(found == expected);
  }
}

}  // namespace

TEST_CASE("order_independent: 1000 orders of the same contributions give one bit pattern, whatever comes last") {
  std::mt19937_64 engine(7);
  contributions const all(engine);
  std::vector<std::vector<std::size_t>> orders(1000, std::vector<std::size_t>(contributions::count));
  for (auto& order : orders) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), engine);
  }
  outcome_bits expected;
  check_orders(exec{}, all, orders, expected);
  orders.resize(50);
  check_orders(exec{}, all, orders, expected, every{static_cast<std::int64_t>(contributions::count)});
  check_orders(exec{}, all, orders, expected, gather<3>{});
#if defined(KOKKOS_ENABLE_OPENMP)
  if constexpr (std::is_same_v<exec, Kokkos::OpenMP>)
    for (int threads : {1, 2, 3}) check_orders(exec(threads), all, orders, expected);
#endif
}

TEST_CASE("order_independent: a thousand chunks have the norm of their elements for 1, 2 and 3 threads") {
  constexpr std::size_t size = 1 << 20;
  floats const theta("theta", size), gradient("gradient", size);
  for (std::size_t i = 0; i < size; ++i) gradient(i) = std::sin(static_cast<float>(i));
  std::vector<double> norms;
  auto const run = [&](exec const& instance) {
    accumulator group(instance, parameters(theta), per_microbatch{}, order_independent{}, sgd{});
    for (int m = 0; m < 3; ++m) group.accumulate(mean_gradient{gradient});
    group.update();
    norms.push_back(group.ledger().records().back().norm);
  };
  run(exec{});
#if defined(KOKKOS_ENABLE_OPENMP)
  if constexpr (std::is_same_v<exec, Kokkos::OpenMP>)
    for (int threads : {1, 2, 3}) run(exec(threads));
#endif
  CHECK(norms[0] == doctest::Approx(std::sqrt(size / 2.0)).epsilon(1e-3));
  CHECK(std::all_of(norms.begin(), norms.end(), [&](double norm) { return norm == norms[0]; }));
}

TEST_CASE_TEMPLATE("P-069, P-070, P-071 (b): nothing stalls, is swamped or cancelled away", S, compensated,
                   order_independent) {
  floats const theta("theta", 1);
  auto group = summed<S>(theta);
  add_times(10'000, group, float16(0.01f));
  group.update();
  CHECK(taken(theta) == std::vector<float>{100.0213623046875f});

  add_times(1, group, bfloat16(256.0f)), add_times(256, group, bfloat16(1.0f));
  group.update();
  CHECK(taken(theta) == std::vector<float>{512});
  add_times(1, group, bfloat16(1.0f)), add_times(1024, group, bfloat16(0x1p-9f));
  group.update();
  CHECK(taken(theta) == std::vector<float>{3});

  for (float const gradient : {1e8f, 1.0f, -1e8f}) add_times(1, group, gradient);
  group.update();
  CHECK(taken(theta) == std::vector<float>{1});
}

TEST_CASE_TEMPLATE("a count that float cannot hold weighs what it is", S, compensated, order_independent) {
  floats const theta("theta", 1);
  accumulator group(parameters(theta), per_token{}, sum_objective{}, S{}, sgd{.learning_rate = 1.0});
  group.accumulate(mean_gradient{make_view<float>({1.0f})}, tokens{16777217});
  group.accumulate(mean_gradient{make_view<float>({-1.0f})}, tokens{16777216});
  group.update();
  CHECK(taken(theta) == std::vector<float>{1});
}

TEST_CASE_TEMPLATE("what is there so far can be looked at, and the group goes on", S, compensated, order_independent) {
  floats const theta("theta", 11);
  auto const gradient = make_view<float>(std::vector<float>(11, 3.0f));
  auto group = summed<S>(theta);
  CHECK(values(group.template snapshot<0>())[10] == 0.0f);
  group.accumulate(sum_gradient{gradient});
  CHECK(values(group.template snapshot<0>())[10] == 3.0f);
  group.accumulate(sum_gradient{gradient});
  CHECK(group.measure().norm == doctest::Approx(6.0 * std::sqrt(11.0)));
  CHECK(group.measure().largest == 6.0);
  group.accumulate(sum_gradient{gradient}, last_contribution);
  CHECK(values(group.template snapshot<0>())[3] == 9.0f);
  CHECK(group.update() == outcome::applied);
  CHECK(taken(theta)[7] == 9.0f);
  group.accumulate(sum_gradient{gradient});  // the first of the next group overwrites
  group.update();
  CHECK(taken(theta)[7] == 3.0f);
}

TEST_CASE_TEMPLATE("a group in which something is not finite is skipped, and the next one is not", S, compensated,
                   order_independent) {
  floats const theta("theta", 19);
  auto group = summed<S>(theta);
  for (float bad : {support::not_a_number<float>, support::infinite<float>}) {
    for (std::size_t at : {std::size_t{2}, std::size_t{18}}) {
      std::vector<float> numbers(19, 1.0f);
      auto const good = make_view<float>(numbers);
      numbers[at] = bad;
      group.accumulate(sum_gradient{good});
      group.accumulate(sum_gradient{make_view<float>(numbers)});
      group.accumulate(sum_gradient{good});
      CHECK(group.update() == outcome::skipped_non_finite);
      group.accumulate(sum_gradient{good});
      CHECK(group.update() == outcome::applied);
      CHECK(taken(theta)[at] == 1.0f);
    }
  }
}

TEST_CASE_TEMPLATE("gather lends sets of its own, and adds what is held in one pass", S, compensated,
                   order_independent) {
  floats const theta("theta", 13);
  accumulator group(parameters(theta), per_microbatch{}, sum_objective{}, S{}, gather<2>{}, sgd{.learning_rate = 1.0});
  for (float each : {1e8f, 1.0f, -1e8f, 0.5f, 1.0f}) {
    auto const [lent] = group.next_gradients();
    Kokkos::deep_copy(lent, each);
    group.accumulate(sum_gradient{lent});
  }
  CHECK(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>(13, 2.5f));
}

TEST_CASE("order_independent: what a recipe says of itself") {
  floats const theta("theta", 1);
  std::ostringstream out;
  out << summed<order_independent>(theta).policies() << summed<compensated>(theta).policies();
  CHECK(out.str().find("order_independent") != std::string::npos);
  CHECK(out.str().find("compensated") != std::string::npos);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What devices run, launched on a host: tables that are sent, teams that share a chunk, sums in a tree.
#include <accrue/core/device_array.hpp>

template <>
inline constexpr bool accrue::runs_on_host_v<Kokkos::DefaultHostExecutionSpace> = false;

#include "device_path/fence_count.hpp"
#include "randomized/driver.hpp"

#include <accrue/accrue.hpp>
#include <accrue/replicas.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <optional>
#include <vector>

using namespace accrue;
using randomized::compare;
using randomized::item;

namespace {

using array = Kokkos::View<double*, Kokkos::HostSpace>;

/// theta -= n, the number of the update.
struct subtract_number {
  using fills = slot::update;
  struct rule {
    double number;
    template <class T, class State>
    KOKKOS_FUNCTION void operator()(T& theta, T const&, State const&) const {
      theta -= static_cast<T>(number);
    }
    static constexpr bool by_lanes = false;
  };
  [[nodiscard]] static constexpr int state_words() { return 0; }
  template <class Real>
  [[nodiscard]] KOKKOS_FUNCTION rule for_update(std::int64_t number) const {
    return {static_cast<double>(number)};
  }
};

std::vector<array> filled(std::size_t views, double value) {
  std::vector<array> all;
  for (std::size_t v = 0; v < views; ++v) {
    all.emplace_back("array", 3);
    Kokkos::deep_copy(all.back(), value);
  }
  return all;
}

/// The parameters after two groups, of `size` elements that begin so many elements into their memory.
template <class P, class G, class Rule>
std::vector<double> trained(Rule const& rule, std::size_t size, std::size_t lead, std::size_t lead_of_gradient) {
  auto const placed = [&]<class T>(T, std::size_t first) {
    Kokkos::View<T*, Kokkos::HostSpace> const all("all", size + first);
    for (std::size_t i = 0; i < size; ++i) all(first + i) = narrow<T>(static_cast<double>(i % 13) / 4.0 - 1.0);
    return Kokkos::subview(all, Kokkos::pair(first, all.size()));
  };
  auto const theta = placed(P{}, lead);
  auto const rounded = placed(bfloat16{}, lead);
  auto const one = placed(G{}, lead_of_gradient), other = placed(G{}, lead_of_gradient);
  accumulator group(parameters(master_weights{theta, rounded}), per_sample{}, every{3},
                    clip_by_global_norm{.max_norm = 0.5}, gather<2>{}, rule);
  for (int m = 0; m < 6; ++m) {
    group.accumulate(sum_gradient{m % 2 == 0 ? one : other}, samples{1 + m});
    if (group.full()) group.update();
  }
  std::vector<double> all;
  for (std::size_t i = 0; i < size; ++i) all.push_back(widen(theta(i))), all.push_back(widen(rounded(i)));
  return all;
}
/// The same wherever the arrays begin: 1 for both has no place where packets may begin.
template <class P, class G, class Rule>
void same_anywhere(Rule const& rule) {
  for (std::size_t const size : {1, 2, 7, 8, 67}) {
    auto const expected = trained<P, G>(rule, size, 1, 1);
    for (std::size_t const lead : {0, 1, 2, 3, 4, 8})
      for (std::size_t const of_gradient : {0, 1, 2, 4}) {
        auto const found = trained<P, G>(rule, size, lead, of_gradient);
        for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(found[i] == doctest::Approx(expected[i]).epsilon(1e-6));
      }
  }
}

}  // namespace

TEST_CASE("device path: packets give what elements give, wherever arrays begin") {
  same_anywhere<float, float>(adamw{.learning_rate = 0.1, .amsgrad = true});
  same_anywhere<float, bfloat16>(momentum{.learning_rate = 0.1});
  same_anywhere<double, float>(sgd{.learning_rate = 0.1});
  auto const five_words = [](double& theta, double const& g, auto const& state) {
    state[4] += g;
    theta -= state[4];
  };
  same_anywhere<double, double>(per_element(five_words, 5));
  auto const two_words = [](double& theta, double const& g, element_state<double> const& state) {
    state[1] += g;
    theta -= state[1];
  };
  same_anywhere<double, double>(per_element(two_words, 2));
}

TEST_CASE("device path: packets are rounded at random as elements are, wherever arrays begin") {
  for (std::size_t const size : {1, 7, 67})
    for (std::size_t const lead : {0, 1, 2, 3, 4}) {
      Kokkos::View<bfloat16*, Kokkos::HostSpace> const all("all", size + lead), other("other", 3);
      auto const theta = Kokkos::subview(all, Kokkos::pair(lead, size + lead));
      array const gradient("gradient", size), of_other("gradient", 3);
      for (std::size_t i = 0; i < size; ++i) theta(i) = bfloat16(1.0f), gradient(i) = -static_cast<double>(i) / 4096.0;
      accumulator group(parameters(other, stochastic_rounding{theta}), per_sample{}, widened<double>{},
                        sgd{.learning_rate = 1.0});
      group.accumulate(mean_gradient{of_other, gradient}, samples{1});
      group.update();
      for (std::size_t i = 0; i < size; ++i)
        REQUIRE(float(theta(i)) ==
                float(narrow_at_random<bfloat16>(static_cast<float>(1.0 - gradient(i)),
                                                 random_stream(1, 1)(static_cast<std::int64_t>(i)))));
    }
}

TEST_CASE("device path: what replicas bring together is what their tables say when they are sent") {
  auto const trained = [](auto const& feed, auto const&... policies) {
    array const a("a", 2), b("b", 2);
    auto const make = [&](array const& theta) {
      return accumulator(parameters(theta), per_token{}, in_process_replicas<>{}, sgd{.learning_rate = 1.0},
                         policies...);
    };
    auto first = make(a), second = make(b);
    for (int group = 0; group < 3; ++group) {
      feed(first, 2.0);
      feed(second, 6.0);
      update_replicas(first, second);
      CHECK(a(1) == doctest::Approx(b(1)).epsilon(1e-14));
    }
    return a(0);
  };
  auto const of = [](double value) {
    array const made("gradient", 2);
    Kokkos::deep_copy(made, value);
    return made;
  };
  auto const one_by_one = [&](auto& group, double value) {
    group.accumulate(mean_gradient{of(value)}, tokens{1});
    group.accumulate(mean_gradient{of(2 * value)}, tokens{3});
  };
  auto const lent = [&](auto& group, double value) {
    for (int m = 1; m <= 2; ++m) {
      auto [gradient] = group.next_gradients();
      Kokkos::deep_copy(gradient, m * value);
      group.accumulate(mean_gradient{gradient}, tokens{2 * m - 1});
    }
  };
  auto const adopted = [&](auto& group, double value) {
    group.adopt(mean_gradient{of(value)}, tokens{1});
    group.accumulate(mean_gradient{of(2 * value)}, tokens{3});
  };
  double const expected = -3 * (7.0 * 2.0 + 7.0 * 6.0) / 8;
  CHECK(trained(one_by_one, late{}) == doctest::Approx(expected).epsilon(1e-14));
  CHECK(trained(one_by_one, running{}) == doctest::Approx(expected).epsilon(1e-14));
  CHECK(trained(one_by_one, order_independent{}) == doctest::Approx(expected).epsilon(1e-14));
  CHECK(trained(lent, gather<2>{}) == doctest::Approx(expected).epsilon(1e-14));
  CHECK(trained(adopted, late{}) == doctest::Approx(expected).epsilon(1e-14));
}

TEST_CASE("device path: a finished gradient is left in the buffer, packets and rest") {
  array const theta("theta", 7), gradient("gradient", 7);
  for (std::size_t i = 0; i < 7; ++i) gradient(i) = static_cast<double>(i);
  std::vector<double> found;
  accumulator group(parameters(theta), per_sample{}, with_gradient([&](auto const& finished) {
                      for (std::size_t i = 0; i < 7; ++i) found.push_back(finished.template get<0>()(i));
                    }));
  group.accumulate(sum_gradient{gradient}, samples{2});
  group.update();
  CHECK(found == std::vector<double>{0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0});
  CHECK(theta(6) == 0.0);
}

TEST_CASE("device path: a parameter's updates are counted, whichever pass touches it first") {
  array const theta("theta", 3);
  auto const gradients = filled(4, 1.0);  // more than wait for one pass
  auto const trained = [&](auto boundary, auto holding, int groups) {
    Kokkos::deep_copy(theta, 0.0);
    accumulator group(parameters(theta), per_sample{}, boundary, holding, subtract_number{});
    for (int m = 0; m < groups * boundary.microbatches().value(); ++m) {
      group.accumulate(mean_gradient{gradients[static_cast<std::size_t>(m % 4)]}, samples{1});
      if (group.full()) group.update();
    }
    CHECK(group.ledger().applied().value() == groups);
    return theta(1);
  };
  CHECK(trained(every{1}, one_at_a_time{}, 3) == -6.0);
  CHECK(trained(every{2}, one_at_a_time{}, 3) == -6.0);
  CHECK(trained(every{2}, gather<2>{}, 4) == -10.0);
  CHECK(trained(every{3}, gather<4>{}, 4) == -10.0);
}

TEST_CASE("device path: nothing waits for weights, patterns or gradients that change from group to group") {
  auto const theta = filled(5, 0.0);
  accumulator group(parameters(theta), per_token{}, every{3}, gather<2>{}, clip_by_global_norm{.max_norm = 1e6},
                    sgd{.learning_rate = 1.0});
  fence_count const fences;
  double expected = 0.0;
  for (int g = 0; g < 20; ++g) {
    double sum = 0.0, weight = 0.0;
    for (int m = 0; m < 3; ++m) {
      auto const [gradient] = group.next_gradients();
      std::int64_t const count = 100 + 37 * g + m;
      for (auto const& each : gradient) Kokkos::deep_copy(each, g + m);
      group.accumulate(mean_gradient{gradient}, tokens{count});
      sum += static_cast<double>(count) * (g + m), weight += static_cast<double>(count);
    }
    group.update();
    expected -= sum / weight;
  }
  for (array const& each : theta) CHECK(each(2) == doctest::Approx(expected).epsilon(1e-12));

  std::vector<std::vector<array>> in_turn;
  for (int i = 0; i < 9; ++i) in_turn.push_back(filled(5, i));
  Kokkos::deep_copy(theta[0], 0.0), Kokkos::deep_copy(theta[4], 0.0);
  for (int m = 0; m < 36; ++m) {
    std::vector<std::optional<array>> some(5);
    for (std::size_t v = 0; v < 5; ++v)
      if (v == 4 || (m * 7 / 3 >> v & 1) != 0) some[v] = in_turn[static_cast<std::size_t>(m % 9)][v];
    group.accumulate(mean_gradient{some}, tokens{1});
    if (group.full()) group.update();
  }
  CHECK(theta[4](0) == doctest::Approx(-12.0 * 4.0));  // 0, ..., 8 on average, in twelve groups
  CHECK(fences.value() == 0);
}

TEST_CASE("device path: large tables that go round between more contents than are kept are right all the same") {
  auto const theta = filled(300, 0.0);
  std::vector<std::vector<array>> in_turn;
  for (int i = 0; i < 7; ++i) in_turn.push_back(filled(300, i));
  accumulator group(parameters(theta), per_sample{}, every{7}, sgd{.learning_rate = 1.0});
  fence_count const fences;
  for (int m = 0; m < 21; ++m) {
    group.accumulate(mean_gradient{in_turn[static_cast<std::size_t>(m % 7)]}, samples{1});
    if (group.full()) group.update();
  }
  CHECK(fences.value() > 0);  // as documented
  for (array const& each : theta) CHECK(each(1) == doctest::Approx(-9.0));
}

TEST_CASE("device path: sums that shrink, and terms that are added up, wait for nothing") {
  auto const theta = filled(300, 0.0), one = filled(300, 1.0), three = filled(300, 3.0);
  accrue::accumulator mean(parameters(theta), per_token{}, running{}, sgd{.learning_rate = 1.0});
  struct first;
  struct second;
  accrue::accumulator both(parameters(theta), terms(term<first>(per_token{}), term<second>(per_microbatch{}, 0.5)),
                           sgd{.learning_rate = 1.0});
  fence_count const fences;
  for (int group = 0; group < 8; ++group) {
    for (int m = 0; m < 6; ++m) mean.accumulate(mean_gradient{m % 2 == 0 ? one : three}, tokens{m % 2 == 0 ? 2 : 6});
    mean.update();  // 2.5
    both.accumulate(of<first>(mean_gradient{one}), of<second>(mean_gradient{three}), tokens{1});
    if (group % 2 == 0)
      both.accumulate(of<first>(mean_gradient{three}), tokens{3});  // 2.5 + 1.5
    else
      both.accumulate(of<second>(mean_gradient{one}));  // 1 + 1
    both.update();
  }
  CHECK(fence_count::value() == 0);
  mean.exec().fence();
  for (array const& each : theta) CHECK(each(2) == doctest::Approx(-8 * 2.5 - 4 * 4.0 - 4 * 2.0).epsilon(1e-14));
}

TEST_CASE("device path: random groups of tokens equal the full batch") {
  compare<recipe<per_token, every, pad_last, clip_by_global_norm, momentum>,
          item<double, double, 1, Kokkos::LayoutStride>, item<float, float, 2, Kokkos::LayoutLeft>>(
      "tokens on the device path", 11, 400);
}

TEST_CASE("device path: random groups of a weighted sum, each microbatch clipped, equal the sum of clipped ones") {
  compare<recipe<weighted, sum_objective, every, drop_last, on_microbatch<clip_by_global_norm>, momentum>,
          item<double, double, 2, Kokkos::LayoutRight>>("a weighted sum on the device path", 12, 400);
}

TEST_CASE("device path: random groups of contiguous gradients, narrow ones too, equal the full batch") {
  using right = Kokkos::LayoutRight;
  compare<recipe<per_token, every, pad_last, clip_by_global_norm, momentum>, item<float, bfloat16, 1, right, right>,
          item<bfloat16, bfloat16, 2, right, right>, item<double, float, 1, right, right>>("packets on the device path",
                                                                                           13, 300);
}

TEST_CASE("device path: random groups under the summations that carry more than the sums equal the full batch") {
  compare<recipe<per_token, every, keep_last, clip_by_global_norm, compensated, sgd>,
          item<float, bfloat16, 2, Kokkos::LayoutLeft>>("compensated on the device path", 13, 150);
  compare<recipe<per_token, every, keep_last, clip_by_global_norm, order_independent, sgd>,
          item<Kokkos::complex<float>, Kokkos::complex<float>, 1, Kokkos::LayoutRight>,
          item<double, double, 1, Kokkos::LayoutStride>>("order independent on the device path", 14, 150);
}

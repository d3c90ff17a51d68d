// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Held and lent gradients change the passes over memory, and nothing else.
#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using accrue::mean_gradient;
using accrue::outcome;
using accrue::sum_gradient;
using matrix = Kokkos::View<double**, Kokkos::LayoutLeft>;

template <class View>
auto on_host(View const& view) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
}

/// Writes numbers that depend on microbatch and place, and that fit into 16 bits.
template <class View>
void produce(View const& gradient, int microbatch) {
  auto const host = Kokkos::create_mirror_view(gradient);
  for (std::size_t i = 0; i < host.size(); ++i) {
    accrue::bfloat16 const number(std::sin(1.0 + 7.0 * static_cast<double>(i)) * (1 + microbatch * microbatch));
    host.data()[i] = accrue::narrow<typename View::non_const_value_type>(float(number));
  }
  Kokkos::deep_copy(gradient, host);
}

/// A model of three views: one with a tail behind the lanes, a matrix, and one of 16 bits.
struct three {
  Kokkos::View<float*> a{"a", 1003};
  matrix b{"b", 5, 7};
  Kokkos::View<accrue::bfloat16*> c{"c", 20};
  [[nodiscard]] auto parameters() const { return accrue::parameters(a, b, c); }
  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> all;
    auto const take = [&](auto const& view) {
      auto const host = on_host(view);
      for (std::size_t i = 0; i < host.size(); ++i) all.push_back(static_cast<double>(host.data()[i]));
    };
    take(a), take(b), take(c);
    return all;
  }
};

template <class... Holding>
auto group_of(three const& model, Holding... holding) {
  return accrue::accumulator(model.parameters(), accrue::per_token{}, accrue::every{7}, accrue::keep_last{},
                             accrue::clip_by_global_norm{.max_norm = 20.0}, accrue::adamw{.learning_rate = 0.1},
                             holding...);
}

struct seen {
  std::vector<double> values;
  std::vector<double> norms;
  friend bool operator==(seen const&, seen const&) = default;
};

/// Two full groups and a short one; `gradients(group)` says where each microbatch is written.
template <class Gradients, class... Holding>
seen train_into(Gradients const& gradients, Holding... holding) {
  three const model;
  auto group = group_of(model, holding...);
  for (int m = 0; m < 17; ++m) {
    auto const [a, b, c] = gradients(group);
    produce(a, m), produce(b, m), produce(c, m);
    group.accumulate(mean_gradient{a, b, c}, accrue::tokens{m % 3 + 1});
    if (group.full()) group.update();
  }
  group.end_of_data();
  seen all{model.values(), {}};
  for (accrue::record const& r : group.ledger().records()) all.norms.push_back(r.norm);
  return all;
}

/// Out of a set of memory of its own for every microbatch.
template <class... Holding>
seen train(Holding... holding) {
  return train_into([](auto&) { return std::tuple(three{}.a, three{}.b, three{}.c); }, holding...);
}
/// The same, written where the accumulator says.
template <class Holding>
seen train_lent(Holding holding) {
  return train_into([](auto& group) { return group.next_gradients(); }, holding);
}

using array = Kokkos::View<float*>;

array filled(float value) {
  array const view("gradient", 3);
  Kokkos::deep_copy(view, value);
  return view;
}
float first(array const& view) { return on_host(view)(0); }

template <class Holding>
auto plain_group(array const& theta, Holding holding) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{.learning_rate = 1.0},
                             holding);
}

}  // namespace

TEST_CASE("gather: held gradients give the bits of one at a time, for full groups and a short one") {
  seen const expected = train();
  CHECK(expected.norms.size() == 3);
  CHECK(train(accrue::gather<2>{}) == expected);
  CHECK(train(accrue::gather<4>{}) == expected);  // seven microbatches: four and three
}

TEST_CASE("gather: gradients that are written where the accumulator says are summed to the same bits") {
  seen const expected = train();
  CHECK(train_lent(accrue::gather<1>{}) == expected);
  CHECK(train_lent(accrue::gather<4>{}) == expected);
}

TEST_CASE(
    "gather: what is lent has the layout of the parameter and the scalar of its sum, and differs while it is held") {
  three const model;
  auto group = group_of(model, accrue::gather<2>{});
  auto const [a, b, c] = group.next_gradients();
  static_assert(std::is_same_v<decltype(b)::array_layout, Kokkos::LayoutLeft>);
  static_assert(std::is_same_v<decltype(c)::value_type, float>);
  CHECK(b.extent(0) == 5);
  CHECK(b.extent(1) == 7);
  CHECK(a.data() == std::get<0>(group.next_gradients()).data());  // nothing has happened

  std::vector<float*> lent;
  for (int m = 0; m < 7; ++m) {
    auto const [x, y, z] = group.next_gradients();
    lent.push_back(x.data());
    produce(x, m), produce(y, m), produce(z, m);
    group.accumulate(mean_gradient{x, y, z}, accrue::tokens{1});
  }
  CHECK_THROWS_AS(static_cast<void>(group.next_gradients()), accrue::error);  // full
  // The buffer, then two sets in turn.
  CHECK(lent == std::vector<float*>{lent[0], lent[1], lent[2], lent[1], lent[2], lent[1], lent[2]});
  CHECK(lent[0] != lent[1]);
  CHECK(lent[1] != lent[2]);
  CHECK(group.update() == outcome::applied);
  CHECK(std::get<0>(group.next_gradients()).data() == lent[0]);
}

TEST_CASE("gather: a gradient in the buffer weighs what its microbatch says, alone and with others, mean and sum") {
  array const theta("theta", 3);
  auto group = plain_group(theta, accrue::gather<1>{});
  auto const write = [&](float value) {
    auto const [g] = group.next_gradients();
    Kokkos::deep_copy(g, value);
    return g;
  };
  group.accumulate(mean_gradient{write(2.0f)}, accrue::tokens{512});
  CHECK(on_host(group.snapshot<0>())(1) == 2.0f);
  CHECK(group.measure().norm == doctest::Approx(2.0 * std::sqrt(3.0)).epsilon(1e-14));
  CHECK(group.measure().largest == 2.0);
  CHECK(group.update() == outcome::applied);  // no pass but the update
  CHECK(first(theta) == -2.0f);

  group.accumulate(mean_gradient{write(2.0f)}, accrue::tokens{512});
  group.accumulate(mean_gradient{write(4.0f)}, accrue::tokens{1536});
  CHECK(group.update() == outcome::applied);
  CHECK(first(theta) == -2.0f - 3.5f);

  group.accumulate(sum_gradient{write(6.0f)}, accrue::tokens{1});
  group.accumulate(mean_gradient{filled(9.0f)}, accrue::tokens{2});
  CHECK(group.update() == outcome::applied);
  CHECK(first(theta) == -2.0f - 3.5f - 8.0f);
}

TEST_CASE("gather: a parameter that only some microbatches touch keeps its sum and its weight") {
  array const theta("theta", 3), other("other", 3);
  accrue::accumulator group(accrue::parameters(theta, other), accrue::per_token{}, accrue::sgd{.learning_rate = 1.0},
                            accrue::gather<2>{});
  auto const [g, h] = group.next_gradients();
  Kokkos::deep_copy(g, 8.0f);
  group.accumulate(mean_gradient{g, accrue::no_gradient}, accrue::tokens{3});
  group.accumulate(mean_gradient{accrue::no_gradient, filled(4.0f)}, accrue::tokens{1});
  CHECK(group.measure().norm == doctest::Approx(std::sqrt(3.0 * 36.0 + 3.0 * 1.0)).epsilon(1e-14));
  CHECK(group.update() == outcome::applied);
  CHECK(first(theta) == -6.0f);
  CHECK(first(other) == -1.0f);
}

TEST_CASE("gather: memory that is still needed is not taken twice, and nothing has changed") {
  array const theta("theta", 3);
  auto group = plain_group(theta, accrue::gather<2>{});
  array const once = filled(1.0f);
  auto const [buffer] = group.next_gradients();
  Kokkos::deep_copy(buffer, 5.0f);
  group.accumulate(mean_gradient{buffer}, accrue::tokens{1});
  CHECK_THROWS_AS(group.accumulate(mean_gradient{buffer}, accrue::tokens{1}), accrue::error);
  group.accumulate(mean_gradient{once}, accrue::tokens{1});
  CHECK_THROWS_AS(group.accumulate(mean_gradient{once}, accrue::tokens{1}), accrue::error);
  CHECK(group.held() == accrue::microbatches{2});
  CHECK(group.update() == outcome::applied);
  CHECK(first(theta) == -3.0f);
}

TEST_CASE("gather: what was lent is not lent again while it waits, whoever looked in between") {
  auto const trained = [](auto const& look, auto const& third, int microbatches) {
    array const w("w", 1), b("b", 1);
    accrue::accumulator group(accrue::parameters(w, b), accrue::per_sample{}, accrue::keep_last{}, accrue::gather<2>{},
                              accrue::sgd{.learning_rate = 1.0});
    for (int m = 0; m < microbatches; ++m) {
      auto const [x, y] = group.next_gradients();
      Kokkos::deep_copy(x, static_cast<float>(1 << m)), Kokkos::deep_copy(y, 1.0f);
      if (m % 2 == 1) look(group);
      if (m == 2)
        third(group, x, y);
      else
        group.accumulate(mean_gradient{x, y}, accrue::samples{1});
    }
    group.end_of_data();
    return static_cast<double>(on_host(w)(0));
  };
  auto const nothing = [](auto&) {};
  auto const measure = [](auto& group) { static_cast<void>(group.measure()); };
  auto const plain = [](auto& group, auto const& x, auto const& y) {
    group.accumulate(mean_gradient{x, y}, accrue::samples{1});
  };
  auto const other_type = [](auto& group, auto const& x, auto const&) {
    group.accumulate(mean_gradient{x, accrue::no_gradient}, accrue::samples{1});
  };
  auto const sum = [](auto& group, auto const& x, auto const& y) {
    group.accumulate(sum_gradient{x, y}, accrue::samples{1});
  };
  auto const rows = [](auto& group, auto const& x, auto const& y) {
    Kokkos::View<int*> const first("indices", 1);
    group.accumulate(mean_gradient{accrue::rows(first, x), y}, accrue::samples{1});
  };
  CHECK(trained(nothing, plain, 4) == -3.75);
  CHECK(trained(nothing, other_type, 4) == -3.75);
  CHECK(trained(nothing, sum, 4) == -3.75);
  CHECK(trained(nothing, rows, 4) == -3.75);
  CHECK(trained(measure, plain, 4) == -3.75);
  CHECK(trained(measure, other_type, 6) == -10.5);
  CHECK(trained(measure, rows, 6) == -10.5);
}

TEST_CASE("gather: memory that waits is refused to contributions of every type, and nothing has changed") {
  array const w("w", 2), x("gradient", 2), y("gradient", 2);
  Kokkos::deep_copy(x, 1.0f), Kokkos::deep_copy(y, 4.0f);
  Kokkos::View<int*> const indices("indices", 2);
  accrue::accumulator group(accrue::parameters(w), accrue::per_sample{}, accrue::keep_last{}, accrue::gather<2>{},
                            accrue::sgd{.learning_rate = 1.0});
  group.accumulate(mean_gradient{x}, accrue::samples{1});
  CHECK_THROWS_AS(group.accumulate(sum_gradient{x}, accrue::samples{1}), accrue::error);
  CHECK_THROWS_AS(group.accumulate(mean_gradient{std::optional(x)}, accrue::samples{1}), accrue::error);
  CHECK_THROWS_AS(group.accumulate(mean_gradient{accrue::rows(indices, x)}, accrue::samples{1}), accrue::error);
  CHECK(group.held().value() == 1);
  group.accumulate(sum_gradient{y}, accrue::samples{1});
  group.update();
  CHECK(on_host(w)(0) == -2.5f);
}

TEST_CASE("gather: held views stay alive until their pass") {
  array const theta("theta", 3);
  auto group = plain_group(theta, accrue::gather<4>{});
  for (float value : {1.0f, 2.0f, 6.0f}) group.accumulate(mean_gradient{filled(value)}, accrue::tokens{1});
  CHECK(group.update() == outcome::applied);
  CHECK(first(theta) == -3.0f);
}

TEST_CASE("gather: a gradient that comes again is kept from group to group, until another comes") {
  array const theta("theta", 3), again = filled(1.0f), other = filled(4.0f);
  auto group = plain_group(theta, accrue::gather<2>{});
  auto const owners_after = [&](array const& gradient) {
    group.accumulate(mean_gradient{gradient}, accrue::tokens{1});
    CHECK(group.update() == outcome::applied);
    return again.use_count();
  };
  CHECK(owners_after(again) == 1);
  CHECK(owners_after(again) == 2);
  CHECK(owners_after(again) == 2);
  CHECK(owners_after(other) == 1);
  CHECK(owners_after(filled(4.0f)) == 1);
  auto const [lent] = group.next_gradients();
  Kokkos::deep_copy(lent, 4.0f);
  CHECK(owners_after(lent) == 1);
  CHECK(first(theta) == -(3 * 1.0f + 3 * 4.0f));
}

TEST_CASE("gather: contributions of other types, ignored ones, a discarded group and a look are no obstacle") {
  array const theta("theta", 3);
  auto group = plain_group(theta, accrue::gather<4>{});
  Kokkos::View<accrue::bfloat16*> const narrow("gradient", 3);
  Kokkos::deep_copy(narrow, accrue::bfloat16(3.0f));
  group.accumulate(mean_gradient{filled(100.0f)}, accrue::tokens{1});
  group.discard();
  group.accumulate(mean_gradient{filled(1.0f)}, accrue::tokens{1});
  group.accumulate(mean_gradient{narrow}, accrue::tokens{1});
  group.accumulate(mean_gradient{filled(std::nanf(""))}, accrue::tokens{0});
  group.accumulate(sum_gradient{filled(5.0f)}, accrue::tokens{1});
  CHECK(on_host(group.snapshot<0>())(0) == 3.0f);
  group.accumulate(mean_gradient{filled(7.0f)}, accrue::tokens{1});
  group.accumulate(mean_gradient{std::optional<array>()}, accrue::tokens{1});
  CHECK(group.update() == outcome::applied);
  CHECK(first(theta) == -(1.0f + 3.0f + 5.0f + 7.0f) / 5.0f);
}

TEST_CASE("gather: sets that are not contiguous, and complex ones, are added as well") {
  using complex = Kokkos::complex<float>;
  Kokkos::View<complex**, Kokkos::LayoutRight> const theta("theta", 2, 3);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{.learning_rate = 1.0},
                            accrue::gather<2>{});
  Kokkos::View<complex**, Kokkos::LayoutRight> const plain("gradient", 2, 3);
  Kokkos::View<complex**, Kokkos::LayoutLeft> const other("gradient", 2, 3);
  Kokkos::deep_copy(plain, complex(1.0f, 2.0f));
  Kokkos::deep_copy(other, complex(5.0f, -2.0f));
  group.accumulate(mean_gradient{plain}, accrue::tokens{1});
  group.update();
  auto const [lent] = group.next_gradients();
  Kokkos::deep_copy(lent, complex(3.0f, 3.0f));
  group.accumulate(mean_gradient{lent}, accrue::tokens{1});
  auto const held = [&](auto const& view) { group.accumulate(mean_gradient{view}, accrue::tokens{1}); };
  held(plain);
  held(other);
  CHECK(group.update() == outcome::applied);
  CHECK(on_host(theta)(1, 2) == complex(-1.0f - 3.0f, -2.0f - 1.0f));
}

TEST_CASE("gather: a group with a gradient that is not finite is skipped, wherever the gradient was written") {
  array const theta("theta", 3);
  auto group = plain_group(theta, accrue::gather<2>{});
  for (int bad = 0; bad < 3; ++bad) {
    for (int m = 0; m < 3; ++m) {
      auto const [g] = group.next_gradients();
      Kokkos::deep_copy(g, m == bad ? std::nanf("") : 1.0f);
      group.accumulate(mean_gradient{g}, accrue::tokens{1});
    }
    CHECK(group.update() == outcome::skipped_non_finite);
  }
  CHECK(first(theta) == 0.0f);
}

TEST_CASE("gather: an accumulator that is moved takes along what it holds") {
  array const theta("theta", 3);
  auto group = plain_group(theta, accrue::gather<4>{});
  group.accumulate(mean_gradient{filled(1.0f)}, accrue::tokens{1});
  auto moved = std::move(group);
  moved.accumulate(mean_gradient{filled(3.0f)}, accrue::tokens{1});
  CHECK(moved.update() == outcome::applied);
  CHECK(first(theta) == -2.0f);
}

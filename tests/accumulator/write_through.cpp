// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A producer that adds its gradient to the sums itself must change nothing but the passes over memory.
#include "support/host.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using accrue::mean_gradient;
using accrue::mean_written_by;
using accrue::outcome;
using accrue::sum_written_by;
using exec = Kokkos::DefaultExecutionSpace;
using array = Kokkos::View<float*>;
using support::values;

array filled(std::size_t n, float value) {
  array const view("view", n);
  Kokkos::deep_copy(view, value);
  return view;
}

/// The gradient of one microbatch: a number for each place and microbatch.
KOKKOS_INLINE_FUNCTION float number(int microbatch, std::int64_t i) {
  return 0.25f * static_cast<float>((i * 7 + microbatch * 3) % 11) - 1.0f;
}

/// Writes it to a view, or adds it to the sums by an adder.
template <class View>
struct write_numbers {
  View gradient;
  int microbatch;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const rows = static_cast<std::int64_t>(gradient.extent(0));
    gradient(i % rows, i / rows) = number(microbatch, i);
  }
};
template <class Adder>
struct add_numbers {
  Adder add;
  std::int64_t rows;
  int microbatch;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { add(number(microbatch, i), i % rows, i / rows); }
};

/// What a matrix product does: sums = alpha * gradient + beta * sums, and beta = 0 reads nothing.
template <class View>
struct scale_and_add {
  View sums;
  double alpha;
  double beta;
  int microbatch;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const rows = static_cast<std::int64_t>(sums.extent(0));
    auto& sum = sums(i % rows, i / rows);
    using real = std::remove_reference_t<decltype(sum)>;
    real const weighed = static_cast<real>(number(microbatch, i)) * static_cast<real>(alpha);
    sum = beta == 0.0 ? weighed : static_cast<real>(sum * static_cast<real>(beta) + weighed);
  }
};

template <class Body>
void launch(exec const& instance, std::size_t n, Body const& body) {
  Kokkos::parallel_for(Kokkos::RangePolicy<exec, Kokkos::IndexType<std::int64_t>>(instance, 0, n), body);
}

enum class way { separately, by_adder, by_product };

/// Three groups of three microbatches; returns the parameters afterwards.
template <class T, class Layout>
auto train(way w) {
  Kokkos::View<T**, Layout> const theta("theta", 5, 7), gradient("gradient", 5, 7);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::every{3},
                            accrue::clip_by_global_norm{.max_norm = 2.0}, accrue::adamw{.learning_rate = 0.5});
  for (int m = 0; m < 9; ++m) {
    accrue::tokens const count{m % 4 + 1};
    if (w == way::separately) {
      launch(group.exec(), theta.size(), write_numbers<decltype(gradient)>{gradient, m});
      group.accumulate(mean_gradient{gradient}, count);
    } else if (w == way::by_adder) {
      group.accumulate(mean_written_by{[&](exec const& instance, auto const& target) {
                         auto const add = target.adder();
                         launch(instance, theta.size(), add_numbers<decltype(add)>{add, 5, m});
                       }},
                       count);
    } else {
      group.accumulate(
          mean_written_by{[&](exec const& instance, auto const& target) {
            auto const& sums = target.sums();
            launch(instance, theta.size(),
                   scale_and_add<std::remove_cvref_t<decltype(sums)>>{sums, target.weight(), target.beta(), m});
          }},
          count);
    }
    if (group.full()) CHECK(group.update() == outcome::applied);
  }
  return values(theta);
}

/// Adds one number to every element of a parameter of rank 1.
template <class Adder>
struct add_to_each {
  Adder add;
  float value;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { add(value, i); }
};
auto add_everywhere(float value) {
  return [value](exec const& instance, auto const& target) {
    auto const add = target.adder();
    launch(instance, add.sums.extent(0), add_to_each<decltype(add)>{add, value});
  };
}

}  // namespace

TEST_CASE_TEMPLATE("write_through: the update has the bits of one with gradients of their own", Layout,
                   Kokkos::LayoutLeft, Kokkos::LayoutRight) {
  CHECK(train<float, Layout>(way::by_adder) == train<float, Layout>(way::separately));
  CHECK(train<float, Layout>(way::by_product) == train<float, Layout>(way::separately));
  CHECK(train<double, Layout>(way::by_adder) == train<double, Layout>(way::separately));
}

TEST_CASE("write_through: what the last group left in the sums is not read, even if it is NaN") {
  array const theta = filled(3, 0.0f);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{.learning_rate = 1.0});
  group.accumulate(sum_written_by{add_everywhere(std::numeric_limits<float>::quiet_NaN())}, accrue::tokens{1});
  CHECK(group.update() == outcome::skipped_non_finite);
  group.accumulate(sum_written_by{add_everywhere(3.0f)}, accrue::tokens{1});
  group.accumulate(mean_written_by{add_everywhere(1.0f)}, accrue::tokens{3});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>(3, -1.5));  // (3 + 3 * 1) / 4
}

TEST_CASE("write_through: a parameter whose target nobody asks is not touched") {
  array const a = filled(2, 1.0f), b = filled(2, 1.0f), c = filled(2, 1.0f);
  accrue::accumulator group(accrue::parameters(std::vector{a, b}, c), accrue::per_token{},
                            accrue::adamw{.learning_rate = 0.5, .weight_decay = 0.5});
  group.accumulate(mean_written_by{[](exec const& instance, auto const& ab, auto const&) {
                     CHECK(ab.size() == 2);
                     CHECK(ab[1].beta() == 0.0);
                     CHECK(ab[1].weight() == 4.0);
                     add_everywhere(1.0f)(instance, ab[1]);
                   }},
                   accrue::tokens{4});
  CHECK(group.update() == outcome::applied);
  CHECK(values(a)[0] == 1.0);
  CHECK(values(b)[0] < 0.5);  // decay alone leaves 0.75
  CHECK(values(c)[0] == 1.0);
}

TEST_CASE("write_through: joins microbatches of every other kind in one group") {
  array const theta = filled(3, 0.0f);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{.learning_rate = 1.0},
                            accrue::gather<2>{});
  auto const [lent] = group.next_gradients();
  Kokkos::deep_copy(lent, 1.0f);
  group.accumulate(mean_gradient{lent}, accrue::tokens{2});                    // waits in the buffer for its weight
  group.accumulate(mean_written_by{add_everywhere(2.0f)}, accrue::tokens{3});  // settles it
  array const held = filled(3, 3.0f);
  group.accumulate(mean_gradient{held}, accrue::tokens{1});                   // waits for its pass
  group.accumulate(sum_written_by{add_everywhere(7.0f)}, accrue::tokens{2});  // comes after it
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>(3, -2.25));  // (2 * 1 + 3 * 2 + 3 + 7) / 8
}

TEST_CASE("write_through: a microbatch that is ignored is not produced") {
  array const theta = filled(3, 0.0f);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
  int calls = 0;
  group.accumulate(mean_written_by{[&](exec const&, auto const&) { ++calls; }}, accrue::tokens{0});
  CHECK(calls == 0);
  CHECK(group.held() == accrue::microbatches{1});
  CHECK(group.update() == outcome::empty);
}

TEST_CASE("write_through: a producer that throws costs the open group, on the record") {
  array const theta = filled(3, 0.0f), gradient = filled(3, 1.0f);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{.learning_rate = 1.0});
  auto const fails = [](exec const& instance, auto const& target) {
    add_everywhere(100.0f)(instance, target);
    throw std::runtime_error("out of memory");
  };
  CHECK_THROWS_WITH(group.accumulate(mean_written_by{fails}, accrue::tokens{1}), "out of memory");
  CHECK(group.ledger().groups() == 0);  // there was nothing to lose
  CHECK(group.ledger().microbatches() == accrue::microbatches{0});

  group.accumulate(mean_gradient{gradient}, accrue::tokens{1});
  CHECK_THROWS(group.accumulate(mean_written_by{fails}, accrue::tokens{1}));
  CHECK(group.held() == accrue::microbatches{0});
  CHECK(group.ledger().records().back().result == outcome::discarded);
  CHECK(group.ledger().dropped_microbatches() == accrue::microbatches{1});

  group.accumulate(mean_gradient{gradient}, accrue::tokens{1});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>(3, -1.0));
}

TEST_CASE("write_through: sums of 16-bit parameters are floats") {
  Kokkos::View<accrue::bfloat16*> const theta("theta", 3);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{.learning_rate = 1.0});
  group.accumulate(mean_written_by{[](exec const& instance, auto const& target) {
                     static_assert(std::is_same_v<std::remove_cvref_t<decltype(target.sums()(0))>, float>);
                     add_everywhere(1.0f / 3.0f)(instance, target);
                   }},
                   accrue::tokens{3});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta)[2] == float(accrue::bfloat16(-1.0f / 3.0f)));
}

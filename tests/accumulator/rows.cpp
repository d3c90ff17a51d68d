// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of a parameter that an index list names, against the same gradient written out in full.
#include "support/host.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace {

using accrue::mean_gradient;
using accrue::outcome;
using exec = Kokkos::DefaultExecutionSpace;
using matrix = Kokkos::View<float**>;
using support::values;

template <class Index>
Kokkos::View<Index*> list(std::vector<Index> const& numbers) {
  Kokkos::View<Index*> const view("indices", numbers.size());
  auto const host = Kokkos::create_mirror_view(view);
  for (std::size_t i = 0; i < numbers.size(); ++i) host(i) = numbers[i];
  Kokkos::deep_copy(view, host);
  return view;
}

template <class T>
T number(std::size_t i, std::size_t j) {
  return T(accrue::real_t<T>(static_cast<float>(static_cast<int>((3 * i + 5 * j) % 13) - 6)));
}
/// Rows k of values, and the gradient of all rows that they stand for.
template <class View>
struct gradient_of {
  using element = typename View::non_const_value_type;
  View some, whole;
  gradient_of(std::vector<int> const& indices, std::size_t rows, std::size_t columns)
      : some("rows", indices.size(), columns), whole("whole", rows, columns) {
    auto const a = Kokkos::create_mirror_view(some), b = Kokkos::create_mirror_view(whole);
    std::vector<float> sums(rows * columns, 0.0f);
    for (std::size_t k = 0; k < indices.size(); ++k)
      for (std::size_t j = 0; j < columns; ++j) {
        a(k, j) = number<element>(k, j);
        auto const row = static_cast<std::size_t>(indices[k]);
        if constexpr (sizeof(element) == 2)
          b(row, j) = element(float(b(row, j)) + float(a(k, j)));
        else
          b(row, j) += a(k, j);
      }
    Kokkos::deep_copy(some, a), Kokkos::deep_copy(whole, b);
  }
};

template <class T, class L, class Index>
struct of {
  using scalar_type = T;
  using layout = L;
  using index = Index;
};

matrix filled(std::size_t rows, std::size_t columns, float value) {
  matrix const view("matrix", rows, columns);
  Kokkos::deep_copy(view, value);
  return view;
}
auto plain_group(matrix const& theta) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{.learning_rate = 1.0},
                             accrue::gather<2>{});
}

}  // namespace

TEST_CASE_TEMPLATE("rows: the update is that of the whole gradient, repeated indices added up", Case,
                   of<float, Kokkos::LayoutRight, int>, of<float, Kokkos::LayoutLeft, std::int64_t>,
                   of<double, Kokkos::LayoutRight, std::uint8_t>, of<accrue::bfloat16, Kokkos::LayoutLeft, unsigned>,
                   of<Kokkos::complex<float>, Kokkos::LayoutRight, short>) {
  using view = Kokkos::View<typename Case::scalar_type**, typename Case::layout>;
  std::vector<int> const first{4, 0, 4, 4, 6}, second{0, 1, 1};
  auto const train = [&](bool by_rows) {
    view const theta("theta", 7, 9), bias("bias", 2, 3), bias_gradient("bias_gradient", 2, 3);
    accrue::accumulator group(accrue::parameters(theta, bias), accrue::per_token{}, accrue::every{2},
                              accrue::clip_by_global_norm{.max_norm = 5.0}, accrue::sgd{.learning_rate = 1.0});
    Kokkos::deep_copy(bias_gradient, number<typename Case::scalar_type>(1, 1));
    for (int g = 0; g < 2; ++g) {
      for (auto const& indices : {first, second}) {
        gradient_of<view> const gradient(indices, 7, 9);
        accrue::tokens const count{static_cast<std::int64_t>(indices.size())};
        std::vector<typename Case::index> const narrow(indices.begin(), indices.end());
        if (by_rows)
          group.accumulate(mean_gradient{accrue::rows(list(narrow), gradient.some), bias_gradient}, count);
        else
          group.accumulate(mean_gradient{gradient.whole, bias_gradient}, count);
      }
      CHECK(group.update() == outcome::applied);
    }
    std::vector<double> norms;
    for (accrue::record const& r : group.ledger().records()) norms.push_back(r.norm);
    return std::pair(values(theta), norms);
  };
  CHECK(train(true) == train(false));
}

TEST_CASE("rows: the first touch of a group leaves nothing of the last one, not even NaN") {
  matrix const theta = filled(3, 2, 0.0f);
  auto group = plain_group(theta);
  group.accumulate(mean_gradient{filled(3, 2, std::numeric_limits<float>::quiet_NaN())}, accrue::tokens{1});
  CHECK(group.update() == outcome::skipped_non_finite);
  group.accumulate(mean_gradient{accrue::rows(list<int>({1}), filled(1, 2, 4.0f))}, accrue::tokens{2});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>{0, 0, -4, -4, 0, 0});
}

TEST_CASE("rows: none of them touches the parameter all the same") {
  matrix const theta = filled(3, 2, 1.0f);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{},
                            accrue::adamw{.learning_rate = 0.5, .weight_decay = 0.5});
  group.accumulate(mean_gradient{accrue::rows(list<int>({}), filled(0, 2, 4.0f))}, accrue::tokens{2});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta)[0] == 0.75f);
}

TEST_CASE("rows: join lent, held and whole gradients in one group") {
  matrix const theta = filled(3, 1, 0.0f);
  auto group = plain_group(theta);
  auto const [lent] = group.next_gradients();
  Kokkos::deep_copy(lent, 1.0f);
  group.accumulate(mean_gradient{lent}, accrue::tokens{2});  // waits in the buffer for its weight
  group.accumulate(mean_gradient{accrue::rows(list<int>({2, 2}), filled(2, 1, 3.0f))}, accrue::tokens{1});
  matrix const held = filled(3, 1, 2.0f);
  group.accumulate(mean_gradient{held}, accrue::tokens{4});
  group.accumulate(mean_gradient{accrue::rows(list<int>({0}), filled(1, 1, 5.0f))}, accrue::tokens{1});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>{-15.0f / 8, -10.0f / 8, -16.0f / 8});
}

TEST_CASE("rows: what does not fit is refused, and nothing has changed") {
  matrix const theta = filled(3, 2, 0.0f);
  auto group = plain_group(theta);
  auto const refused = [&](std::vector<int> const& indices, matrix const& some) {
    auto const attempt = [&] {
      group.accumulate(mean_gradient{accrue::rows(list<int>(indices), some)}, accrue::tokens{1});
    };
    CHECK_THROWS_AS(attempt(), accrue::error);
    CHECK(group.held() == accrue::microbatches{0});
  };
  refused({0, 1}, filled(1, 2, 1.0f));
  refused({0}, filled(1, 3, 1.0f));
  refused({0}, matrix(static_cast<float*>(nullptr), 1, 2));
  refused({0, 1, 2}, theta);
  auto const [lent] = group.next_gradients();  // the sums themselves
  refused({0, 1, 2}, matrix(lent.data(), 3, 2));
  if constexpr (accrue::runs_on_host_v<exec>) {
    refused({0, 3}, filled(2, 2, 1.0f));
    refused({-1}, filled(1, 2, 1.0f));
  }
}

TEST_CASE("rows: on a device an index outside of the parameter makes the group non-finite") {
  using pass = accrue::row_addition<float, float, int>;
  auto const sums = filled(2, 2, 1.0f), some = filled(1, 2, 5.0f);
  auto const run = [&](int index) {
    Kokkos::View<int*> const indices = list<int>({index});
    auto const row = [](matrix const& of) { return accrue::run_of(of.data(), 2, accrue::scalar_id<float>()); };
    Kokkos::parallel_for(Kokkos::RangePolicy<exec>(0, 2),
                         pass::by_element{{indices.data(), 1, 1, 2, row(some), 2, row(sums), 2, 2.0f, 1}});
    return values(sums);
  };
  CHECK(run(1) == std::vector<float>{1, 1, 11, 11});
  CHECK(std::isnan(run(2)[0]));
  CHECK(values(sums)[2] == 11);
}

TEST_CASE("rows: the sums have the same bits for any number of host threads") {
  if constexpr (accrue::runs_on_host_v<exec>) {
    std::vector<int> indices;
    for (int k = 0; k < 100; ++k) indices.push_back(k * k % 7);
    auto const some = filled(100, 5, 0.1f);
    auto const sums_with = [&](std::int64_t threads) {
      auto const sums = filled(7, 5, 0.3f);
      auto const row = [](matrix const& of) { return accrue::run_of(of.data(), 5, accrue::scalar_id<float>()); };
      auto const which = list<int>(indices);
      Kokkos::parallel_for(
          Kokkos::RangePolicy<exec>(0, static_cast<int>(threads)),
          accrue::row_addition<float, float, int>{which.data(), 1, 100, 7, row(some), 5, row(sums), 5, 0.7f, threads});
      return values(sums);
    };
    for (std::int64_t threads : {2, 3, 5, 64}) CHECK(sums_with(threads) == sums_with(1));
  }
}

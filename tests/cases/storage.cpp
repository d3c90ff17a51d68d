// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Views of every kind: P-072, P-073, P-076, P-077, P-078, P-085, P-086.
#include "support/host.hpp"

#include <accrue/accumulator.hpp>
#include <accrue/finalize/clip_by_global_norm.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/finalize/objective.hpp>
#include <accrue/passes/chunk_table.hpp>
#include <accrue/update/sgd.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

using accrue::mean_gradient;
using accrue::outcome;
using accrue::sum_gradient;
using support::fill;
using support::make_view;
using support::taken;
using support::values;

namespace {

constexpr accrue::sgd whole_gradient{.learning_rate = 1.0};

/// Adds gradients up, and takes the sum from the parameters.
template <class... Views>
auto summed(Views... theta) {
  return accrue::accumulator(accrue::parameters(theta...), accrue::per_microbatch{}, accrue::sum_objective{},
                             whole_gradient);
}

template <class... Views>
auto averaged(Views... theta) {
  return accrue::accumulator(accrue::parameters(theta...), accrue::per_microbatch{},
                             accrue::clip_by_global_norm{.max_norm = 10.0}, whole_gradient);
}

using left = Kokkos::View<float**, Kokkos::LayoutLeft>;
using right = Kokkos::View<float**, Kokkos::LayoutRight>;

left ten_i_plus_j() {
  left const a("a", 3, 4);
  fill(a, {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23});
  return a;
}

static_assert(std::is_same_v<decltype(accrue::strided::axis::extent), std::int64_t> &&
              std::is_same_v<decltype(accrue::strided::axis::stride), std::int64_t> &&
              std::is_same_v<decltype(accrue::strided::size), std::int64_t> &&
              std::is_same_v<decltype(accrue::chunk::begin), std::int64_t> &&
              std::is_same_v<decltype(accrue::chunk::end), std::int64_t>);

}  // namespace

TEST_CASE("P-072 a strided row is read and written where its elements are") {
  left const a = ten_i_plus_j();
  auto const row = Kokkos::subview(a, 1, Kokkos::ALL);
  Kokkos::View<float*> theta("theta", 4);
  auto group = summed(theta);
  for (int i = 0; i < 2; ++i) group.accumulate(sum_gradient{row});
  CHECK(values(group.snapshot<0>()) == std::vector<float>{20, 22, 24, 26});  // four consecutive cells: 20, 40, 2, 22
  group.update();
  CHECK(taken(theta) == std::vector<float>{20, 22, 24, 26});
  CHECK(values(a) == values(ten_i_plus_j()));

  auto into_row = summed(row);
  into_row.accumulate(sum_gradient{make_view<float>({10, 11, 12, 13})});
  into_row.update();
  CHECK(values(a) == std::vector<float>{0, 1, 2, 3, 0, 0, 0, 0, 20, 21, 22, 23});
}

TEST_CASE_TEMPLATE("P-073 gradient and parameter of different layouts meet by index", Order, std::true_type,
                   std::false_type) {
  using theta_type = std::conditional_t<Order::value, left, right>;
  using gradient_type = std::conditional_t<Order::value, right, left>;
  theta_type theta("theta", 2, 3);
  gradient_type gradient("gradient", 2, 3);
  fill(gradient, {1, 2, 3, 4, 5, 6});
  auto group = summed(theta);
  group.accumulate(sum_gradient{gradient});
  CHECK(values(group.template snapshot<0>()) == std::vector<float>{1, 2, 3, 4, 5, 6});  // by address: 1 3 5, 2 4 6
  group.update();
  CHECK(taken(theta) == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("P-076 parameters of length zero change no norm") {
  Kokkos::View<float*> none("none", 0), theta("theta", 2);
  auto both = averaged(none, theta);
  both.accumulate(mean_gradient{Kokkos::View<float*>("no gradient", 0), make_view<float>({3, 4})});
  auto seen = both.measure();
  CHECK(seen.norm == 5.0);
  CHECK(seen.largest == 4.0);
  CHECK(seen.finite);
  CHECK(both.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{3, 4});

  auto nothing = averaged(none, Kokkos::View<float*>("none either", 0));
  nothing.accumulate(mean_gradient{none, none});
  seen = nothing.measure();
  CHECK(seen.norm == 0.0);  // of nothing: NaN, -Inf, or the numbers of before
  CHECK(seen.largest == 0.0);
  CHECK(seen.finite);
  CHECK(nothing.update() == outcome::applied);
  CHECK(nothing.ledger().records().back().norm == 0.0);
}

TEST_CASE_TEMPLATE("P-077 a parameter of rank 0 is one number", T, float, double) {
  Kokkos::View<T> theta("theta"), gradient("gradient");
  auto group = averaged(theta);
  for (T const value : {T(1), T(2), T(6)}) {
    Kokkos::deep_copy(gradient, value);
    group.accumulate(mean_gradient{gradient});
  }
  group.update();
  CHECK(taken(theta) == std::vector<T>{3});
  CHECK(group.ledger().records().back().norm == 3.0);
}

TEST_CASE("P-078 places beyond 2^31 elements are not wrapped") {
  constexpr std::int64_t many = (std::int64_t{1} << 31) + 8;
  auto const chunks = accrue::cut_into_chunks({many});
  CHECK(chunks.back().end == many);  // in 32 bits: no chunk, or a hang
  std::int64_t covered = 0;
  for (accrue::chunk const& each : chunks) covered += each.end - each.begin;
  CHECK(covered == many);

  accrue::view_shape const shape{2, {2, many}, {many, 1}};
  accrue::strided const row = accrue::fold(shape, accrue::order_in_memory(shape), nullptr, 0);
  CHECK(row.size == 2 * many);
  CHECK(row.offset(2 * many - 1) == 2 * many - 1);
  accrue::view_shape const column{2, {many, 2}, {2, 1}};
  accrue::view_shape const every_other{1, {many}, {2}};
  CHECK(accrue::fold(column, accrue::order_in_memory(column), nullptr, 0).size == 2 * many);
  CHECK(accrue::fold(every_other, {0}, nullptr, 0).offset(many - 1) == 2 * (many - 1));
}

TEST_CASE("P-085 every tensor is added to, none is overwritten") {
  Kokkos::View<float> number("number");
  Kokkos::View<float*> vector("vector", 3), single("single", 1);
  Kokkos::View<float**> matrix("matrix", 2, 3);
  Kokkos::View<float***> cube("cube", 2, 2, 2);
  auto group = summed(number, vector, matrix, cube, single);
  auto const ones = [](auto view) {
    auto copy = Kokkos::create_mirror(typename decltype(view)::memory_space{}, view);
    Kokkos::deep_copy(copy, 1.0f);
    return copy;
  };
  for (int i = 0; i < 2; ++i)
    group.accumulate(sum_gradient{ones(number), ones(vector), ones(matrix), ones(cube), ones(single)});
  group.update();
  CHECK(taken(number) == std::vector<float>(1, 2));  // the second only: 1
  CHECK(taken(vector) == std::vector<float>(3, 2));
  CHECK(taken(matrix) == std::vector<float>(6, 2));
  CHECK(taken(cube) == std::vector<float>(8, 2));
  CHECK(taken(single) == std::vector<float>(1, 2));
}

TEST_CASE_TEMPLATE("P-086 complex gradients lose neither part", Real, float, double) {
  using complex = Kokkos::complex<Real>;
  Kokkos::View<complex*> theta("theta", 1), gradient("gradient", 1);
  auto group = summed(theta);
  for (int i = 0; i < 1000; ++i) {
    Kokkos::deep_copy(gradient, complex(Real(-i), Real(2 * i)));
    group.accumulate(sum_gradient{gradient});
  }
  group.update();
  CHECK(taken(theta) == std::vector<complex>{complex(-499'500, 999'000)});
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of Eigen matrices as gradients and as parameters: P-074.
#include "support/host.hpp"

#include <accrue/accumulator.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/finalize/objective.hpp>
#include <accrue/interop/eigen.hpp>
#include <accrue/update/sgd.hpp>

#include <doctest/doctest.h>
#include <Eigen/Core>
#include <Kokkos_Core.hpp>
#include <vector>

using accrue::from_eigen;
using support::taken;

namespace {

template <class T>
using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

// M(i, j) = i + 10 j
template <class T>
matrix<T> four_by_four() {
  matrix<T> m(4, 4);
  for (int i = 0; i != 4; ++i)
    for (int j = 0; j != 4; ++j) m(i, j) = T(i + 10 * j);
  return m;
}

template <class... Views>
auto summed(Views... theta) {
  return accrue::accumulator(accrue::parameters(theta...), accrue::per_microbatch{}, accrue::sum_objective{},
                             accrue::sgd{.learning_rate = 1.0});
}

}  // namespace

TEST_CASE_TEMPLATE("P-074 blocks, rows and diagonals are read with their strides", T, float, double) {
  matrix<T> const m = four_by_four<T>();
  Kokkos::View<T**, Kokkos::HostSpace> block("block", 2, 2);
  Kokkos::View<T*, Kokkos::HostSpace> row("row", 4), diagonal("diagonal", 4);
  auto group = summed(block, row, diagonal);
  group.accumulate(
      accrue::sum_gradient{from_eigen(m.block(1, 1, 2, 2)), from_eigen(m.row(2)), from_eigen(m.diagonal())});
  group.update();
  CHECK(taken(block) == std::vector<T>{11, 21, 12, 22});  // as contiguous memory: 11, 13, 12, 20
  CHECK(taken(row) == std::vector<T>{2, 12, 22, 32});
  CHECK(taken(diagonal) == std::vector<T>{0, 11, 22, 33});
}

TEST_CASE("P-074 a block that is a parameter is written where its elements are") {
  matrix<double> theta = matrix<double>::Zero(4, 4);
  matrix<double> const m = four_by_four<double>();
  auto group = summed(from_eigen(theta.block(1, 1, 2, 2)));
  group.accumulate(accrue::sum_gradient{from_eigen(m.block(1, 1, 2, 2))});
  CHECK(group.update() == accrue::outcome::applied);
  matrix<double> expected = matrix<double>::Zero(4, 4);
  expected.block(1, 1, 2, 2) = -m.block(1, 1, 2, 2);
  CHECK(theta == expected);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that begins anywhere, as gradient and as parameter: P-075.
#include "support/host.hpp"

#include <accrue/accumulator.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/finalize/objective.hpp>
#include <accrue/interop/pointer.hpp>
#include <accrue/update/sgd.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <array>
#include <vector>

using support::taken;
using support::values;

namespace {

template <class View>
auto summed(View theta) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_microbatch{}, accrue::sum_objective{},
                             accrue::sgd{.learning_rate = 1.0});
}

template <class T>
std::vector<T> const doubled{2, 4, 6, 8, 10, 12, 14, 16};

}  // namespace

TEST_CASE_TEMPLATE("P-075 a pointer that is aligned for its element only is read and written", T, float, double) {
  alignas(64) std::array<T, 9> const memory{-1, 1, 2, 3, 4, 5, 6, 7, 8};
  alignas(64) std::array<T, 9> parameters{-1};
  auto const gradient = accrue::from_pointer(memory.data() + 1, 8);
  auto const theta = accrue::from_pointer(parameters.data() + 1, 8);
  auto group = summed(theta);
  for (int i = 0; i < 2; ++i) group.accumulate(accrue::sum_gradient{gradient});
  CHECK(group.update() == accrue::outcome::applied);
  CHECK(taken(theta) == doubled<T>);
  CHECK(parameters[0] == T(-1));
}

TEST_CASE_TEMPLATE("P-075 a sub-range of a view is read and written", T, float, double) {
  auto const memory = support::make_view<T>({-1, 1, 2, 3, 4, 5, 6, 7, 8});
  auto const parameters = support::make_view<T>({-1, 0, 0, 0, 0, 0, 0, 0, 0});
  auto const gradient = Kokkos::subview(memory, Kokkos::make_pair(1, 9));
  auto const theta = Kokkos::subview(parameters, Kokkos::make_pair(1, 9));
  auto group = summed(theta);
  for (int i = 0; i < 2; ++i) group.accumulate(accrue::sum_gradient{gradient});
  CHECK(group.update() == accrue::outcome::applied);
  CHECK(taken(theta) == doubled<T>);
  CHECK(values(parameters)[0] == T(-1));
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Norms and clipping: P-003, P-042, P-044, P-045, P-046, P-050, P-051 (without a loss scale).
#include "support/host.hpp"

#include <accrue/accumulator.hpp>
#include <accrue/finalize/clip_by_global_norm.hpp>
#include <accrue/finalize/clip_by_value.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/update/per_group.hpp>
#include <accrue/update/sgd.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <vector>

using accrue::clip_by_global_norm;
using accrue::mean_gradient;
using accrue::outcome;
using support::about;
using support::infinite;
using support::make_view;
using support::not_a_number;
using support::taken;

namespace {

constexpr accrue::sgd whole_gradient{.learning_rate = 1.0};

template <class T>
auto clipped_to(double max_norm, Kokkos::View<T*> theta) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_microbatch{},
                             clip_by_global_norm{.max_norm = max_norm}, whole_gradient);
}

template <class Group>
double last_norm(Group& group) {
  return group.ledger().records().back().norm;
}

}  // namespace

TEST_CASE_TEMPLATE("P-003 clipping does not hide a sum that should be a mean", T, float, double) {
  Kokkos::View<T*> theta("theta", 2);
  auto group = clipped_to(1.0, theta);
  for (int i = 0; i < 8; ++i) group.accumulate(mean_gradient{make_view<T>({T(0.03), T(0.04)})});
  group.update();
  auto const below = taken(theta);
  CHECK(last_norm(group) == about<T>(0.05));  // of the sum: 0.4
  CHECK(below[0] == about<T>(0.03));          // of the sum: 0.24
  CHECK(below[1] == about<T>(0.04));

  for (int i = 0; i < 8; ++i) group.accumulate(mean_gradient{make_view<T>({3, 4})});
  group.update();
  auto const above = taken(theta);
  CHECK(last_norm(group) == 5.0);  // of the sum: 40, and the applied gradient looks right
  CHECK(above[0] == about<T>(0.6));
  CHECK(above[1] == about<T>(0.8));
}

TEST_CASE_TEMPLATE("P-042 the group is clipped, not the microbatch", T, float, double) {
  Kokkos::View<T*> theta("theta", 2);
  auto group = clipped_to(1.0, theta);
  group.accumulate(mean_gradient{make_view<T>({3, 4})});
  group.accumulate(mean_gradient{make_view<T>({-3, 4})});
  group.update();
  CHECK(last_norm(group) == 4.0);
  CHECK(taken(theta) == std::vector<T>{0, 1});  // each microbatch first: (0, 0.8)
}

TEST_CASE_TEMPLATE("P-042 a microbatch is clipped where that is asked for", T, float, double) {
  Kokkos::View<T*> theta("theta", 2);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_microbatch{},
                            accrue::on_microbatch(clip_by_global_norm{.max_norm = 1.0}), whole_gradient);
  group.accumulate(mean_gradient{make_view<T>({3, 4})});
  group.accumulate(mean_gradient{make_view<T>({-3, 4})});
  group.update();
  auto const gradient = taken(theta);
  CHECK(gradient[0] == T(0));
  CHECK(gradient[1] == about<T>(0.8));
}

TEST_CASE_TEMPLATE("P-044 parameter groups share one norm", T, float, double) {
  Kokkos::View<T*> a("a", 1), b("b", 1);
  accrue::accumulator group(accrue::parameter_groups(accrue::parameters(a), accrue::parameters(b)),
                            accrue::per_microbatch{}, clip_by_global_norm{.max_norm = 1.0},
                            accrue::per_group{whole_gradient, accrue::sgd{.learning_rate = 2.0}});
  group.accumulate(mean_gradient{make_view<T>({3}), make_view<T>({4})});
  group.update();
  CHECK(last_norm(group) == 5.0);
  CHECK(taken(a)[0] == about<T>(0.6));  // each group by its own norm: 1
  CHECK(taken(b)[0] == about<T>(2.0 * 0.8));
}

TEST_CASE("P-045 a bound that makes no sense is refused when the accumulator is made") {
  Kokkos::View<float*> theta("theta", 2);
  for (double const bound : {-1.0, 0.0, not_a_number<double>}) {
    CAPTURE(bound);  // taken as it is: (-0.6, -0.8), (0, 0), (NaN, NaN)
    CHECK_THROWS_AS(clipped_to(bound, theta), accrue::error);
    CHECK_THROWS_AS(accrue::accumulator(accrue::parameters(theta), accrue::per_microbatch{},
                                        accrue::on_microbatch(clip_by_global_norm{.max_norm = bound}), whole_gradient),
                    accrue::error);
    CHECK_THROWS_AS(accrue::clip_by_value{bound}.validate(), accrue::error);
  }
}

TEST_CASE_TEMPLATE("P-045 an infinite bound is no clipping, and 1 clips", T, float, double) {
  Kokkos::View<T*> theta("theta", 2);
  auto unbounded = clipped_to(infinite<double>, theta);
  unbounded.accumulate(mean_gradient{make_view<T>({3, 4})});
  unbounded.update();
  CHECK(taken(theta) == std::vector<T>{3, 4});

  auto bounded = clipped_to(1.0, theta);
  bounded.accumulate(mean_gradient{make_view<T>({3, 4})});
  bounded.update();
  auto const gradient = taken(theta);
  CHECK(gradient[0] == about<T>(0.6));
  CHECK(gradient[1] == about<T>(0.8));
}

TEST_CASE_TEMPLATE("P-046 neither a zero gradient nor a norm at the bound is changed", T, float, double) {
  Kokkos::View<T*> theta("theta", 2);
  auto group = clipped_to(5.0, theta);
  group.accumulate(mean_gradient{make_view<T>({0, 0})});
  CHECK(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<T>{0, 0});  // divided by its norm: NaN
  CHECK(last_norm(group) == 0.0);

  group.accumulate(mean_gradient{make_view<T>({3, 4})});
  CHECK(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<T>{3, 4});
  CHECK(last_norm(group) == 5.0);
  CHECK(group.ledger().records().back().clip_factor == 1.0);
}

TEST_CASE_TEMPLATE("P-050 the norm of complex gradients is that of their moduli", Real, float, double) {
  using complex = Kokkos::complex<Real>;
  Kokkos::View<complex*> theta("theta", 1);
  auto group = clipped_to(1.0, theta);
  group.accumulate(mean_gradient{make_view<complex>({complex(3, 4)})});
  group.update();
  complex const gradient = taken(theta)[0];
  CHECK(last_norm(group) == 5.0);  // (3 + 4i)^2 = -7 + 24i under the root
  CHECK(gradient.real() == about<Real>(0.6));
  CHECK(gradient.imag() == about<Real>(0.8));
}

TEST_CASE_TEMPLATE("P-051 the reported norm is that of the mean, before clipping", T, float, double) {
  Kokkos::View<T*> theta("theta", 2);
  for (double const bound : {100.0, 1.0}) {
    auto group = clipped_to(bound, theta);
    for (int i = 0; i < 2; ++i) group.accumulate(mean_gradient{make_view<T>({3, 4})});
    group.update();
    CHECK(last_norm(group) == 5.0);  // of the sum: 10, after clipping: 1
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What sums are kept in: P-036 (b), P-043, P-069, P-070, P-071, P-080.
#include "support/host.hpp"

#include <accrue/accumulate/summation.hpp>
#include <accrue/accumulator.hpp>
#include <accrue/finalize/clip_by_global_norm.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/finalize/objective.hpp>
#include <accrue/update/sgd.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

using accrue::bfloat16;
using accrue::clip_by_global_norm;
using accrue::float16;
using accrue::mean_gradient;
using accrue::outcome;
using accrue::sum_gradient;
using support::infinite;
using support::make_view;
using support::taken;
using support::values;

namespace {

constexpr accrue::sgd whole_gradient{.learning_rate = 1.0};

/// Adds gradients of any scalar up, and takes the sum from float parameters, which round it once.
template <class Summation = accrue::widened<>>
auto summed(Kokkos::View<float*> theta) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_microbatch{}, accrue::sum_objective{}, Summation{},
                             whole_gradient);
}

template <class Parameters>
auto clipped_by(clip_by_global_norm clip, Parameters theta) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_microbatch{}, clip, whole_gradient);
}

// A half accumulator is not offered, so its cases are about the float one.
static_assert(std::same_as<accrue::widened<>::buffer_scalar<float16>, float> &&
              std::same_as<accrue::widened<>::buffer_scalar<bfloat16>, float>);

template <class Group, class Scalar>
void add_times(int times, Group& group, Scalar value) {
  auto const gradient = make_view<Scalar>({accrue::widen(value)});
  for (int i = 0; i < times; ++i) group.accumulate(sum_gradient{gradient});
}

}  // namespace

TEST_CASE("P-036 (b) a sum that half precision cannot hold is finite in the float accumulator") {
  Kokkos::View<float*> theta("theta", 1);
  auto group = summed(theta);
  add_times(2, group, float16(40000.0f));
  CHECK(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{80000});  // in half: Inf

  Kokkos::View<float16*> half_theta("half theta", 1);
  auto mean = clipped_by({.max_norm = infinite<double>}, half_theta);
  for (int i = 0; i < 2; ++i) mean.accumulate(mean_gradient{make_view<float16>({40000.0f})});
  CHECK(mean.update() == outcome::applied);
  CHECK(taken(half_theta) == std::vector<float>{40000});
}

TEST_CASE("P-043 squares of half-precision numbers are formed in a wider type") {
  Kokkos::View<float16*> theta("theta", 1);
  auto group = clipped_by({.max_norm = 1.0}, theta);
  for (float const value : {300.0f, 5000.0f}) {
    group.accumulate(mean_gradient{make_view<float16>({value})});
    CHECK(group.update() == outcome::applied);
    CHECK(group.ledger().records().back().norm == double(value));  // in half: 90000 is Inf
    CHECK(taken(theta) == std::vector<float>{1});                  // clipped by 1/Inf: 0
  }
}

TEST_CASE("P-069 a float accumulator does not stall on small half-precision numbers") {
  Kokkos::View<float*> theta("theta", 1);
  auto group = summed(theta);
  float16 const hundredth(0.01f);
  REQUIRE(accrue::widen(hundredth) == 0.01000213623046875f);
  add_times(10'000, group, hundredth);
  group.update();
  CHECK(taken(theta)[0] == doctest::Approx(100.0213623046875).epsilon(1e-4).scale(0.0));  // in half: 32
}

TEST_CASE("P-070 bfloat16 contributions are not swamped") {
  Kokkos::View<float*> theta("theta", 1);
  auto group = summed(theta);
  add_times(1, group, bfloat16(256.0f));
  add_times(256, group, bfloat16(1.0f));
  group.update();
  CHECK(taken(theta) == std::vector<float>{512});  // in bfloat16: 256

  add_times(1, group, bfloat16(1.0f));
  add_times(1024, group, bfloat16(0x1p-9f));
  group.update();
  CHECK(taken(theta) == std::vector<float>{3});  // in bfloat16: 1

  Kokkos::View<bfloat16*> narrow_theta("narrow theta", 1);
  auto mean = clipped_by({.max_norm = infinite<double>}, narrow_theta);
  for (int i = 0; i <= 256; ++i) mean.accumulate(mean_gradient{make_view<bfloat16>({i == 0 ? 256.0f : 1.0f})});
  CHECK(values(mean.snapshot<0>())[0] == support::about<float>(512.0 / 257.0));
}

TEST_CASE("P-071 (a) the same group twice gives the same bits") {
  constexpr std::size_t size = 1'000'000;
  std::vector<float> sines(size);
  for (std::size_t i = 0; i < size; ++i) sines[i] = std::sin(static_cast<float>(i));
  auto const gradient = make_view<float>(sines);
  auto const run = [&] {
    auto group = clipped_by({.max_norm = 1.0}, Kokkos::View<float*>("theta", size));
    for (int i = 0; i < 3; ++i) group.accumulate(mean_gradient{gradient});
    auto sums = values(group.snapshot<0>());
    group.update();
    return std::pair(std::move(sums), group.ledger().records().back().norm);
  };
  auto const [first, first_norm] = run();
  auto const [second, second_norm] = run();
  CHECK((first == second));
  CHECK(first_norm == second_norm);  // summed in the order of arrival: another last digit
}

TEST_CASE("P-071 (b) cancelling contributions leave the small one in a double accumulator") {
  Kokkos::View<float*> theta("theta", 1);
  auto const cancel = [&](auto group) {
    for (float const gradient : {1e8f, 1.0f, -1e8f}) add_times(1, group, gradient);
    group.update();
    return taken(theta);
  };
  CHECK(cancel(summed<accrue::widened<double>>(theta)) == std::vector<float>{1});
  CHECK(cancel(summed(theta)) == std::vector<float>{0});  // right for float
}

TEST_CASE("P-080 reductions over half-precision data do not stall") {
  Kokkos::View<float16*> theta("theta", 100'000), gradient("gradient", 100'000);
  Kokkos::deep_copy(gradient, float16(1.0f));
  auto sum = clipped_by({.max_norm = infinite<double>, .order = 1.0}, theta);
  sum.accumulate(mean_gradient{gradient});
  CHECK(sum.measure().norm == 100'000.0);  // one after the other in half: 2048, or Inf

  auto norm = clipped_by({.max_norm = infinite<double>}, theta);
  norm.accumulate(mean_gradient{gradient});
  CHECK(norm.measure().norm == support::about<double>(std::sqrt(100'000.0)));
  CHECK(norm.measure().finite);
}

TEST_CASE("P-080 the norm of several half-precision tensors is that of all their elements") {
  std::vector<Kokkos::View<float16*>> theta, gradient;
  for (int i = 0; i < 3; ++i) {
    theta.emplace_back("theta", 3);
    gradient.push_back(make_view<float16>({1, 1, 1}));
  }
  auto group = clipped_by({.max_norm = infinite<double>}, theta);
  group.accumulate(mean_gradient{gradient});
  CHECK(group.measure().norm == 3.0);
  group.update();
  CHECK(group.ledger().records().back().norm == 3.0);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights in full precision, and the rounded copy of them that the forward pass reads.
#include <accrue/accrue.hpp>

#include "support/host.hpp"

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace {

using accrue::bfloat16;
using accrue::float16;
using accrue::master_weights;
using accrue::mean_gradient;
using array = Kokkos::View<float*>;
using halves = Kokkos::View<bfloat16*>;
using support::fill;
using support::values;

/// What the elements are rounded to one by one.
template <class Copy, class Weights>
auto rounded(Weights const& weights) {
  support::value_list<Copy> all;
  for (auto const x : values(weights))
    all.push_back(accrue::widen(accrue::narrow<typename Copy::non_const_value_type>(x)));
  return all;
}

template <class Weights, class Copy>
struct mixed {
  using weights = Weights;
  using copy = Copy;
};

using float_to_bfloat16 =
    mixed<Kokkos::View<float**, Kokkos::LayoutRight>, Kokkos::View<bfloat16**, Kokkos::LayoutRight>>;
using float_to_float16 = mixed<Kokkos::View<float**, Kokkos::LayoutLeft>, Kokkos::View<float16**, Kokkos::LayoutLeft>>;
using other_layout = mixed<Kokkos::View<float**, Kokkos::LayoutRight>, Kokkos::View<bfloat16**, Kokkos::LayoutLeft>>;
using double_to_bfloat16 = mixed<Kokkos::View<double**>, Kokkos::View<bfloat16**>>;
using double_to_float = mixed<Kokkos::View<double**>, Kokkos::View<float**>>;
using bfloat16_to_float = mixed<Kokkos::View<bfloat16**>, Kokkos::View<float**>>;
using complex_to_complex = mixed<Kokkos::View<Kokkos::complex<double>**>, Kokkos::View<Kokkos::complex<float>**>>;

}  // namespace

TEST_CASE_TEMPLATE("master_weights: after every update the copy is the weights, rounded once", T, float_to_bfloat16,
                   float_to_float16, other_layout, double_to_bfloat16, double_to_float, bfloat16_to_float,
                   complex_to_complex) {
  using scalar = typename T::weights::non_const_value_type;
  using wide = accrue::accumulation_scalar_t<scalar>;
  typename T::weights const theta("theta", 37, 5), gradient("gradient", 37, 5);
  typename T::copy const copy("copy", 37, 5);
  std::vector<wide> slopes;
  for (int i = 0; i < 37 * 5; ++i) slopes.emplace_back(static_cast<accrue::real_t<wide>>(std::sin(1.0 + i)));
  fill(gradient, slopes);
  accrue::accumulator group(accrue::parameters(master_weights{theta, copy}), accrue::per_sample{},
                            accrue::adamw{.learning_rate = 0.01});
  for (int update = 0; update < 3; ++update) {
    group.accumulate(mean_gradient{gradient}, accrue::samples{8});
    CHECK(group.update() == accrue::outcome::applied);
    CHECK(values(theta)[3] != wide{});
    CHECK(values(copy) == rounded<typename T::copy>(theta));
  }
}

TEST_CASE("master_weights: updates that a copy cannot show add up in the weights") {
  array const theta("theta", 11), gradient("gradient", 11);
  halves const copy("copy", 11), alone("alone", 11);
  Kokkos::deep_copy(theta, 1.0f), Kokkos::deep_copy(copy, bfloat16(1.0f)), Kokkos::deep_copy(alone, bfloat16(1.0f));
  Kokkos::deep_copy(gradient, -0x1p-10f);  // an eighth of a unit in the last place of 1
  auto const train = [&](auto const& parameters) {
    accrue::accumulator group(parameters, accrue::per_sample{}, accrue::sgd{.learning_rate = 1.0});
    for (int update = 0; update < 8; ++update) {
      group.accumulate(mean_gradient{gradient}, accrue::samples{1});
      group.update();
    }
  };
  train(accrue::parameters(master_weights{theta, copy}));
  train(accrue::parameters(alone));
  CHECK(values(theta)[10] == 1.0f + 0x1p-7f);
  CHECK(values(copy)[10] == 1.0f + 0x1p-7f);
  CHECK(values(alone)[10] == 1.0f);
}

TEST_CASE("master_weights: stand among other parameters, in groups and as vectors, and take gradients of 16 bits") {
  array const first("first", 3), plain("plain", 3);
  std::vector<array> const many{array("many", 2), array("many", 20)};
  halves const of_first("copy", 3), gradient("gradient", 3);
  std::vector<halves> const of_many{halves("copy", 2), halves("copy", 20)};
  std::vector<array> const gradients{array("gradient", 2), array("gradient", 20)};
  Kokkos::deep_copy(gradient, bfloat16(1.0f));
  for (array const& each : gradients) Kokkos::deep_copy(each, 2.0f);
  accrue::accumulator group(accrue::parameter_groups(accrue::parameters(plain, master_weights{many, of_many}),
                                                     accrue::parameters(master_weights{first, of_first})),
                            accrue::per_sample{}, accrue::clip_by_global_norm{.max_norm = 1e9},
                            accrue::per_group{accrue::sgd{.learning_rate = 1.0}, accrue::sgd{.learning_rate = 3.0}});
  group.accumulate(mean_gradient{accrue::no_gradient, gradients, gradient}, accrue::samples{1});
  group.update();
  CHECK(values(plain)[0] == 0.0f);
  CHECK(values(of_many[0]) == std::vector<float>(2, -2.0f));
  CHECK(values(of_many[1]) == std::vector<float>(20, -2.0f));
  CHECK(values(of_first) == std::vector<float>(3, -3.0f));
  CHECK(values(first) == std::vector<float>(3, -3.0f));
}

TEST_CASE("master_weights: a copy is written where its weights change, and nowhere else") {
  array const a("a", 9), b("b", 9), gradient("gradient", 9);
  halves const of_a("copy", 9), of_b("copy", 9);
  Kokkos::deep_copy(of_a, bfloat16(7.0f)), Kokkos::deep_copy(of_b, bfloat16(7.0f));
  accrue::accumulator group(accrue::parameters(master_weights{a, of_a}, master_weights{b, of_b}), accrue::per_sample{},
                            accrue::sgd{.learning_rate = 1.0});
  CHECK(values(of_a)[0] == 7.0f);  // not at construction
  Kokkos::deep_copy(gradient, std::numeric_limits<float>::quiet_NaN());
  group.accumulate(mean_gradient{gradient, gradient}, accrue::samples{1});
  CHECK(group.update() == accrue::outcome::skipped_non_finite);
  CHECK(values(of_a)[0] == 7.0f);
  Kokkos::deep_copy(gradient, 1.0f);
  group.accumulate(mean_gradient{gradient, accrue::no_gradient}, accrue::samples{1});
  group.update();
  CHECK(values(of_a)[8] == -1.0f);
  CHECK(values(of_b)[8] == 7.0f);
}

TEST_CASE("master_weights: gather, rows and producers work on the weights") {
  Kokkos::View<float**> const table("table", 4, 8), values_of_rows("values", 1, 8);
  Kokkos::View<bfloat16**> const copy("copy", 4, 8);
  Kokkos::View<int*> const index("index", 1);
  Kokkos::deep_copy(index, 2), Kokkos::deep_copy(values_of_rows, 1.0f);
  accrue::accumulator group(accrue::parameters(master_weights{table, copy}), accrue::per_sample{}, accrue::gather<2>{},
                            accrue::sgd{.learning_rate = 1.0});
  for (int m = 0; m < 3; ++m) {
    auto const [gradient] = group.next_gradients();
    Kokkos::deep_copy(gradient, 1.0f);
    group.accumulate(mean_gradient{gradient}, accrue::samples{1});
  }
  group.accumulate(mean_gradient{accrue::rows(index, values_of_rows)}, accrue::samples{1});
  group.update();
  CHECK(values(copy)[8] == -0.75f);
  CHECK(values(copy)[2 * 8] == -1.0f);
}

TEST_CASE("master_weights: a copy that does not fit is refused, and named") {
  array const theta("theta", 4);
  halves const copy("copy", 4);
  auto const refused = [](auto const& parameters) {
    try {
      accrue::accumulator group(parameters, accrue::per_sample{}, accrue::sgd{});
    } catch (accrue::error const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refused(accrue::parameters(master_weights{theta, copy})).empty());
  CHECK(refused(accrue::parameters(master_weights{theta, halves("copy", 5)})).find("its copy (5)") !=
        std::string::npos);
  CHECK(refused(accrue::parameters(master_weights{theta, halves()})).find("its copy (0)") != std::string::npos);
  CHECK(refused(accrue::parameters(master_weights{theta, theta})).find("and the copy of parameter 0 ('theta') share") !=
        std::string::npos);
  CHECK(refused(accrue::parameters(master_weights{theta, copy}, master_weights{array("other", 4), copy}))
            .find("the copy of parameter 0 ('theta') and the copy of parameter 1 ('other')") != std::string::npos);
  CHECK(refused(accrue::parameters(master_weights{std::vector{theta, array("other", 4)}, std::vector{copy}}))
            .find("1 copies for 2 weights") != std::string::npos);
}

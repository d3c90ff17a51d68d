// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "values.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace {

/// theta = theta - gradient, for a matrix, as a user would launch it.
template <class Theta, class Gradient>
struct subtract {
  Theta theta;
  Gradient gradient;
  KOKKOS_FUNCTION void operator()(int i) const {
    for (std::size_t j = 0; j < theta.extent(1); ++j) theta(i, j) -= gradient(i, j);
  }
};

struct note_order {
  std::string* order;
  void group_closing(accrue::group_counts const&) { *order += "closing "; }
  void group_recorded(accrue::record const& r) {
    *order += r.result == accrue::outcome::applied ? "applied " : "skipped ";
  }
};

}  // namespace

TEST_CASE("the function gets the gradient that was divided and clipped, its norm and its factor") {
  auto const a = filled<double>({1}), b = filled<double>({1});
  auto const a_gradient = filled<double>({12}), b_gradient = filled<double>({16});
  std::vector<double> seen;
  double norm = 0, factor = 0;
  accrue::accumulator group(accrue::parameters(a, b), accrue::per_sample{},
                            accrue::clip_by_global_norm{.max_norm = 5.0}, accrue::with_gradient([&](auto const& g) {
                              seen = {values(g.template get<0>())[0], values(g.template get<1>())[0]};
                              norm = g.norm();
                              factor = g.clip_factor();
                            }));
  group.accumulate(accrue::sum_gradient{a_gradient, b_gradient}, accrue::samples{2});
  REQUIRE(group.update() == accrue::outcome::applied);
  CHECK(seen == std::vector<double>{3, 4});
  CHECK(norm == 10);
  CHECK(factor == 0.5);
  CHECK(values(a) == std::vector<double>{1});  // only the function changes parameters
}

TEST_CASE("the function is called once for an applied group, and for no other") {
  auto const theta = filled<double>({0}), gradient = filled<double>({1}), bad = filled<double>({not_a_number});
  int calls = 0;
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::drop_last{}, accrue::every{2},
                            accrue::with_gradient([&](auto const&) { ++calls; }));
  auto const add = [&](auto const& g, int samples) {
    group.accumulate(accrue::mean_gradient{g}, accrue::samples{samples});
  };
  group.update();                                 // nothing in it
  add(bad, 1), add(gradient, 1), group.update();  // skipped
  add(bad, 0), add(bad, 0), group.update();       // empty
  add(gradient, 1), group.discard();
  add(gradient, 1), group.end_of_data();  // dropped
  CHECK(calls == 0);
  add(gradient, 1), add(bad, 0), group.update();
  CHECK(calls == 1);
  add(gradient, 1), group.update();
  CHECK(calls == 2);
}

TEST_CASE("touched flags count every view, also those of vectors, and belong to the group") {
  std::vector<Kokkos::View<double*>> const many{filled<double>({1}), filled<double>({2, 3}), filled<double>({4})};
  auto const one = filled<double>({5});
  using optional = std::optional<Kokkos::View<double*>>;
  std::vector<bool> touched;
  std::size_t views = 0, extent = 0;
  accrue::accumulator group(accrue::parameters(many, one), accrue::per_sample{},
                            accrue::with_gradient([&](auto const& g) {
                              touched.clear();
                              for (std::size_t v = 0; v < 4; ++v) touched.push_back(g.touched(v));
                              views = g.template get<0>().size();
                              extent = g.template get<0>()[1].extent(0);
                            }));
  std::vector<optional> const middle{optional{}, optional{filled<double>({2, 3})}, optional{}};
  std::vector<optional> const last{optional{}, optional{}, optional{filled<double>({4})}};
  group.accumulate(accrue::mean_gradient{middle, accrue::no_gradient}, accrue::samples{1});
  group.accumulate(accrue::mean_gradient{last, accrue::no_gradient}, accrue::samples{1});
  group.update();
  CHECK(touched == std::vector<bool>{false, true, true, false});
  CHECK(views == 3);
  CHECK(extent == 2);
  group.accumulate(accrue::mean_gradient{accrue::no_gradient, filled<double>({5})}, accrue::samples{1});
  group.update();
  CHECK(touched == std::vector<bool>{false, false, false, true});
}

TEST_CASE("the views have the parameter's indices, whatever the layouts, and the instance is the group's") {
  Kokkos::View<float**, Kokkos::LayoutLeft> const theta("theta", 2, 3);
  Kokkos::View<float**, Kokkos::LayoutRight> const gradient("gradient", 2, 3);
  auto const host = Kokkos::create_mirror_view(gradient);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j) host(i, j) = static_cast<float>(10 * i + j);
  Kokkos::deep_copy(gradient, host);

  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::with_gradient([&](auto const& g) {
                              auto const view = g.template get<0>();
                              Kokkos::parallel_for("subtract", Kokkos::RangePolicy(g.exec(), 0, 2),
                                                   subtract<decltype(theta), decltype(view)>{theta, view});
                            }));
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
  group.update();
  group.exec().fence();
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, theta);
  CHECK(found(0, 2) == -2);
  CHECK(found(1, 0) == -10);
  CHECK(found(1, 2) == -12);
}

TEST_CASE("the gradient of a 16-bit parameter arrives in float") {
  auto const theta = filled<accrue::bfloat16>({accrue::bfloat16(0.0f)});
  auto const gradient = filled<float>({1 + 0x1p-20f});
  std::vector<float> seen;
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{},
                            accrue::with_gradient([&](auto const& g) { seen = values(g.template get<0>()); }));
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
  group.update();
  CHECK(seen == std::vector<float>{1 + 0x1p-20f});
}

TEST_CASE("the function is called after observers saw the group close, inside update()") {
  auto const theta = filled<double>({0}), gradient = filled<double>({1});
  std::string order;
  note_order notes{&order};
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{},
                            accrue::with_gradient([&](auto const&) { order += "function "; }));
  group.observe(std::ref(notes));
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
  group.update();
  order += "returned ";
  static_cast<void>(group.ledger());
  CHECK(order == "closing function returned applied ");
}

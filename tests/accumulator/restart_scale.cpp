// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A restart with a loss scale, and with microbatches that were left out.
#include "support/host.hpp"

#include <accrue/accrue.hpp>
#include <accrue/restart.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <sstream>
#include <vector>

using support::make_view;
using support::values;

TEST_CASE("a loss scale, what a gate let through and what it rejected come back in the middle of a group") {
  auto const make = [](Kokkos::View<float*> theta, Kokkos::View<float*> phi) {
    return accrue::accumulator(accrue::parameters(theta, phi), accrue::per_token{}, accrue::reject_microbatch{},
                               accrue::dynamic_scale{.initial = 8.0, .growth_interval = 2},
                               accrue::momentum{.learning_rate = 1.0, .factor = 0.5});
  };
  auto const add = [](auto& group, float value, std::int64_t id) {
    group.accumulate(accrue::mean_gradient{make_view<float>({value}), accrue::no_gradient}, accrue::tokens{2},
                     accrue::sample_ids(std::vector<std::int64_t>{id}), accrue::mean_loss{value});
  };
  auto const first_half = [&](auto& group) {
    add(group, 8, 1);
    static_cast<void>(group.update());
    add(group, support::not_a_number<float>, 2);
    add(group, 24, 3);
  };
  auto const second_half = [&](auto& group) {
    add(group, support::infinite<float>, 4);
    static_cast<void>(group.update());
    add(group, group.loss_scale().value(), 5);
    static_cast<void>(group.update());
  };
  auto const theta = make_view<float>({0}), phi = make_view<float>({0}), other = make_view<float>({9}),
             other_phi = make_view<float>({9});
  auto whole = make(theta, phi), resumed = make(other, other_phi);
  first_half(whole);
  std::stringstream file;
  accrue::save(whole, file);
  accrue::load(resumed, file);
  CHECK(resumed.held() == accrue::microbatches{2});
  CHECK(resumed.loss_scale().state() == whole.loss_scale().state());
  CHECK(values(resumed.template snapshot<0>()) == std::vector<float>{3});
  auto scale = resumed.loss_scale();
  CHECK_THROWS_AS(scale.restore({}), accrue::error);  // the group is open here too
  second_half(whole);
  second_half(resumed);
  CHECK(values(other) == values(theta));
  CHECK(values(other_phi) == std::vector<float>{0});
  CHECK(values(theta)[0] < -3.0f);
  CHECK(resumed.loss_scale().state() == whole.loss_scale().state());
  CHECK(resumed.loss_scale().value() == 4.0f);
  std::ostringstream left, right;
  for (accrue::record const& r : whole.ledger().records()) left << r << '\n';
  for (accrue::record const& r : resumed.ledger().records()) right << r << '\n';
  for (accrue::rejection const& r : whole.ledger().rejections()) left << r << '\n';
  for (accrue::rejection const& r : resumed.ledger().rejections()) right << r << '\n';
  CHECK(left.str() == right.str());
  CHECK(left.str().find("samples 4") != std::string::npos);
}

TEST_CASE("accumulators that share a loss scale come back one after the other, with the same scale only") {
  auto const make = [](auto const& scale) {
    return accrue::accumulator(accrue::parameters(make_view<float>({0})), accrue::per_token{}, scale,
                               accrue::sgd{.learning_rate = 1.0});
  };
  accrue::shared_scale const scale(accrue::dynamic_scale{.initial = 8.0});
  auto first = make(scale), second = make(scale);
  for (auto* each : {&first, &second})
    each->accumulate(accrue::mean_gradient{make_view<float>({8})}, accrue::tokens{1});
  std::stringstream one, two;
  accrue::save(first, one);
  accrue::save(second, two);
  accrue::shared_scale const fresh(accrue::dynamic_scale{.initial = 8.0, .growth_interval = 2000});
  fresh.cell().put({.scale = 2.0f});
  auto third = make(fresh), fourth = make(fresh);
  accrue::load(third, one);
  accrue::load(fourth, two);
  CHECK(fresh.cell().value() == 8.0f);
  auto const [a, b] = accrue::update_together(third, fourth);
  CHECK(a == accrue::outcome::applied);
  CHECK(b == accrue::outcome::applied);

  std::stringstream again;
  accrue::save(first, again);
  auto fifth = make(fresh), sixth = make(fresh);
  fifth.accumulate(accrue::mean_gradient{make_view<float>({8})}, accrue::tokens{1});
  CHECK_THROWS_WITH_AS(accrue::load(sixth, again), doctest::Contains("loss scale in the file is another"),
                       accrue::error);
}

namespace {
struct first_term {};
struct second_term {};
}  // namespace

TEST_CASE("named terms and a division that was changed come back in the middle of a group") {
  auto const train = [](bool stops, auto division) {
    auto const theta = make_view<double>({0, 0});
    auto const make = [&] {
      return accrue::accumulator(accrue::parameters(theta),
                                 accrue::terms(accrue::term<first_term>(accrue::per_token{}),
                                               accrue::term<second_term>(accrue::per_microbatch{}, 0.5)),
                                 division, accrue::sgd{.learning_rate = 1.0});
    };
    auto group = make();
    auto const add = [&](auto& to, double value) {
      to.accumulate(
          accrue::of<first_term>(accrue::mean_gradient{make_view<double>({value, 1})}),
          accrue::of<second_term>(accrue::mean_gradient{make_view<double>({1, value})}, accrue::mean_loss{value}),
          accrue::tokens{3});
    };
    add(group, 2);
    std::stringstream file;
    accrue::save(group, file);
    auto resumed = make();
    accrue::load(resumed, file);
    auto& rest = stops ? resumed : group;
    add(rest, 7);
    CHECK(rest.update() == accrue::outcome::applied);
    return values(theta);
  };
  std::vector<double> const expected{-(4.5 + 0.5), -(1 + 0.5 * 4.5)};
  auto const early = accrue::early(accrue::tokens{6}, accrue::microbatches{2});
  for (bool const stops : {false, true}) {
    CHECK(train(stops, accrue::late{}) == expected);
    auto const found = train(stops, early);
    CHECK(found[0] == support::about<double>(expected[0]));
    CHECK(found[1] == support::about<double>(expected[1]));
  }
}

TEST_CASE_TEMPLATE("what a summation carries comes back in the middle of a group", T, accrue::compensated,
                   accrue::order_independent) {
  auto const train = [](bool stops) {
    auto const theta = make_view<float>({0, 0});
    Kokkos::View<Kokkos::complex<float>*> const phi("phi", 1);
    auto const make = [&] {
      return accrue::accumulator(accrue::parameters(theta, phi), accrue::weighted{}, T{},
                                 accrue::sgd{.learning_rate = 1.0});
    };
    auto group = make();
    Kokkos::View<Kokkos::complex<float>*> const of_phi("of_phi", 1);
    auto const add = [&](auto& to, float value) {
      Kokkos::deep_copy(of_phi, Kokkos::complex<float>(value, -value));
      to.accumulate(accrue::sum_gradient{make_view<float>({value, 1}), of_phi}, accrue::weight{0.25});
    };
    add(group, 1e8f);
    add(group, 1);
    std::stringstream file;
    accrue::save(group, file);
    auto resumed = make();
    accrue::load(resumed, file);
    auto& rest = stops ? resumed : group;
    add(rest, 1);
    add(rest, -1e8f);
    CHECK(rest.update() == accrue::outcome::applied);
    CHECK(phi(0) == Kokkos::complex<float>(-2, 2));
    return values(theta);
  };
  CHECK(train(false) == std::vector<float>{-2, -4});  // in float the two ones are lost
  CHECK(train(true) == std::vector<float>{-2, -4});
}

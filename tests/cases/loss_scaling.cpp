// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Losses that are multiplied before their backward pass: P-029, P-030, P-031, P-033 to P-037, P-039, P-040.
#include "support/host.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using accrue::mean_gradient;
using accrue::outcome;
using support::infinite;
using support::make_view;
using support::not_a_number;
using support::values;

namespace {

template <class T, class... Policies>
auto scaled(Kokkos::View<T*> theta, Policies... policies) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_microbatch{}, policies...,
                             accrue::sgd{.learning_rate = 1.0});
}

/// The outcome of a group of microbatches whose true gradients these are, multiplied by the scale as a user would.
template <class T, class Group>
outcome update_of(Group& group, std::vector<T> const& true_gradients) {
  T const scale = static_cast<T>(group.loss_scale().value());
  for (T const gradient : true_gradients) group.accumulate(mean_gradient{make_view<T>({gradient * scale})});
  return group.update().result();
}

}  // namespace

TEST_CASE_TEMPLATE("P-029 a group is unscaled once, whatever was looked at before", T, float, double) {
  auto const theta = make_view<T>({0});
  auto group = scaled(theta, accrue::constant_scale{.scale = 4.0f});
  group.accumulate(mean_gradient{make_view<T>({4})});
  CHECK(values(group.template snapshot<0>()) == std::vector<T>{1});
  group.accumulate(mean_gradient{make_view<T>({12})});
  for (int look = 0; look < 2; ++look) {
    CHECK(group.measure().norm == 2.0);
    CHECK(group.measure().largest == 2.0);
    CHECK(values(group.template snapshot<0>()) == std::vector<T>{2});
  }
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<T>{-2});
  CHECK(group.ledger().records().back().loss_scale == 4.0);
}

TEST_CASE("P-030 the scale is constant inside a group") {
  auto const theta = make_view<float>({0});
  auto group = scaled(theta, accrue::constant_scale{.scale = 8.0f});
  group.accumulate(mean_gradient{make_view<float>({8})});
  CHECK_THROWS_WITH_AS(group.change_loss_scale(accrue::constant_scale{.scale = 4.0f}),
                       doctest::Contains("inside a group"), accrue::error);
  auto scale = group.loss_scale();
  CHECK_THROWS_AS(scale.restore({.scale = 4.0f}), accrue::error);
  group.accumulate(mean_gradient{make_view<float>({24})});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>{-2});

  group.change_loss_scale(accrue::constant_scale{.scale = 4.0f});
  CHECK(group.loss_scale().value() == 4.0f);
  CHECK(update_of<float>(group, {1, 3}) == outcome::applied);
  CHECK(values(theta) == std::vector<float>{-4});
}

TEST_CASE_TEMPLATE("P-031 an overflow lowers the scale once for its group, and the next group begins afresh", T, float,
                   double) {
  auto const theta = make_view<T>({T(0.1)});
  auto group = scaled(theta, accrue::dynamic_scale{.initial = 1024.0, .at_floor = accrue::overflow_at_floor::stays});
  CHECK(update_of<T>(group, {1, infinite<T>, 3, infinite<T>}) == outcome::skipped_non_finite);
  CHECK(values(theta) == std::vector<T>{T(0.1)});
  CHECK(group.loss_scale().value() == 512.0f);
  CHECK(update_of<T>(group, {1, 2, 3, 4}) == outcome::applied);
  CHECK(values(theta) == std::vector<T>{T(0.1) - T(2.5)});
  accrue::ledger const& book = group.ledger();
  CHECK(book.microbatches() == accrue::microbatches{8});
  CHECK(book.attempted() == accrue::updates{2});
  CHECK(book.applied() == accrue::updates{1});
  CHECK(book.skipped() == accrue::updates{1});
}

TEST_CASE("P-033 the scale never becomes infinite") {
  for (auto policy : {accrue::dynamic_scale{}, accrue::dynamic_scale::pytorch()}) {
    policy.growth_interval = 1;
    auto const theta = make_view<float>({0});
    auto group = scaled(theta, policy);
    float const tiny = 0x1p-100f;
    for (int n = 1; n <= 150; ++n) {
      REQUIRE(update_of<float>(group, {tiny}) == outcome::applied);
      REQUIRE(values(theta)[0] == -tiny * static_cast<float>(n));  // exact up to 2^24 terms
    }
    CHECK(group.loss_scale().value() == static_cast<float>(policy.ceiling));
  }
}

TEST_CASE("P-034 the scale never reaches zero, and stays at its floor") {
  auto const theta = make_view<float>({0});
  auto group = scaled(theta, accrue::dynamic_scale{.at_floor = accrue::overflow_at_floor::stays});
  for (int n = 1; n <= 200; ++n) {
    CHECK(update_of<float>(group, {infinite<float>}) == outcome::skipped_non_finite);
    REQUIRE(group.loss_scale().value() == (n < 16 ? std::ldexp(65536.0f, -n) : 1.0f));
  }
  CHECK(group.loss_scale().state().stuck == 184);
  CHECK(update_of<float>(group, {2}) == outcome::applied);
  CHECK(values(theta) == std::vector<float>{-2});
  CHECK(group.loss_scale().state().stuck == 0);
}

TEST_CASE("P-034 PyTorch's scale, which knows no floor, stops before its inverse is infinite") {
  auto group = scaled(make_view<float>({0}), accrue::dynamic_scale::pytorch());
  for (int n = 1; n <= 200; ++n) update_of<float>(group, {infinite<float>});
  CHECK(group.loss_scale().value() == 0x1p-126f);
}

TEST_CASE("P-034 by default an overflow at the floor is an error, after the group is closed and skipped") {
  auto const theta = make_view<float>({5});
  auto group = scaled(theta, accrue::dynamic_scale{.initial = 2.0});
  CHECK(update_of<float>(group, {not_a_number<float>}) == outcome::skipped_non_finite);  // 1 is reached
  std::string said;
  try {
    update_of<float>(group, {not_a_number<float>});
  } catch (accrue::error const& e) {
    said = e.what();
  }
  CHECK(said.find("group 2 overflows although the loss scale is at its floor") != std::string::npos);
  CHECK(group.held() == accrue::microbatches{0});
  CHECK(group.ledger().skipped() == accrue::updates{2});
  CHECK(values(theta) == std::vector<float>{5});
  CHECK(update_of<float>(group, {1}) == outcome::applied);
}

TEST_CASE("P-035 a scale that is shared changes once for a group, however many parts close") {
  accrue::shared_scale const scale(accrue::dynamic_scale{.initial = 1024.0, .growth_interval = 2});
  auto const theta = make_view<float>({0}), phi = make_view<float>({0});
  auto first = scaled(theta, scale), second = scaled(phi, scale);
  auto const fill = [&](float a, float b) {
    float const by = scale.cell().value();
    first.accumulate(mean_gradient{make_view<float>({a * by})});
    second.accumulate(mean_gradient{make_view<float>({b * by})});
  };
  fill(1, 2);
  CHECK_THROWS_WITH_AS(first.update(), doctest::Contains("update_together"), accrue::error);
  CHECK(first.held() == accrue::microbatches{1});
  accrue::update_together(first, second);
  CHECK(scale.cell().value() == 1024.0f);
  fill(1, 2);
  accrue::update_together(first, second);
  CHECK(scale.cell().value() == 2048.0f);
  CHECK(values(theta) == std::vector<float>{-2});
  CHECK(values(phi) == std::vector<float>{-4});

  fill(1, infinite<float>);  // one decision: neither is applied
  auto const [one, other] = accrue::update_together(first, second);
  CHECK(one == outcome::skipped_non_finite);
  CHECK(other == outcome::skipped_non_finite);
  CHECK(scale.cell().value() == 1024.0f);
  CHECK(values(theta) == std::vector<float>{-2});
  CHECK(values(phi) == std::vector<float>{-4});
  CHECK(first.ledger().skipped() == accrue::updates{1});

  first.accumulate(mean_gradient{make_view<float>({1024})});  // alone, while the other holds nothing
  CHECK(first.update() == outcome::applied);
  CHECK(scale.cell().state().clean_groups == 1);
  CHECK_THROWS_WITH_AS(accrue::update_together(first, first), doctest::Contains("given twice"), accrue::error);
}

TEST_CASE("P-035 one of those that close together may be empty, and a group that is thrown away frees the scale") {
  accrue::shared_scale const scale(accrue::dynamic_scale{.initial = 4.0, .growth_interval = 1});
  auto const theta = make_view<float>({0}), phi = make_view<float>({0});
  auto first = scaled(theta, scale), second = scaled(phi, scale);
  second.accumulate(mean_gradient{make_view<float>({4})});
  auto const [one, other] = accrue::update_together(first, second);
  CHECK(one == outcome::empty);
  CHECK(other == outcome::applied);
  CHECK(scale.cell().value() == 8.0f);
  first.accumulate(mean_gradient{make_view<float>({8})});
  {
    auto third = scaled(phi, scale);
    third.accumulate(mean_gradient{make_view<float>({8})});
    CHECK_THROWS_AS(first.update(), accrue::error);
  }  // its group is gone with it
  second.accumulate(mean_gradient{make_view<float>({8})});
  second.discard();
  CHECK(first.update() == outcome::applied);
  CHECK(scale.cell().value() == 16.0f);
}

TEST_CASE("P-036 an overflow that appears only in the sum is found, and one that a wider buffer holds is none") {
  auto const theta = make_view<float>({0, 0});
  auto group = scaled(theta, accrue::dynamic_scale{.initial = 2.0, .at_floor = accrue::overflow_at_floor::stays});
  auto const half = make_view<accrue::float16>({0, 40000});
  for (int n = 0; n < 2; ++n) group.accumulate(mean_gradient{half});
  CHECK(group.update() == outcome::applied);  // 80000 is no float16
  CHECK(values(theta) == std::vector<float>{0, -20000});
  for (int n = 0; n < 2; ++n) group.accumulate(mean_gradient{make_view<float>({3e38f, 0})});
  CHECK(group.update() == outcome::skipped_non_finite);
  CHECK(group.loss_scale().value() == 1.0f);
}

TEST_CASE("P-037 a group in which no parameter got a gradient leaves the scale alone") {
  auto const theta = make_view<float>({0});
  auto group = scaled(theta, accrue::dynamic_scale{.initial = 1024.0, .growth_interval = 1});
  for (int n = 0; n < 2; ++n) group.accumulate(mean_gradient{accrue::no_gradient});
  CHECK(group.update() == outcome::empty);
  CHECK(group.loss_scale().value() == 1024.0f);
  CHECK(update_of<float>(group, {1}) == outcome::applied);
  CHECK(values(theta) == std::vector<float>{-1});
  CHECK(group.loss_scale().value() == 2048.0f);
}

TEST_CASE_TEMPLATE("P-039 the clip sees the gradient without the scale, on the group and on the microbatch", T, float,
                   double) {
  accrue::clip_by_global_norm const clip{.max_norm = 1.0};
  auto const theta = make_view<T>({0, 0});
  auto on_group = scaled(theta, accrue::constant_scale{.scale = 1024.0f}, clip);
  auto on_microbatch = scaled(theta, accrue::constant_scale{.scale = 1024.0f}, accrue::on_microbatch(clip));
  auto const check = [&](auto& group, T x, T y, T expected, double norm) {
    group.accumulate(mean_gradient{make_view<T>({x * 1024, y * 1024})});
    CHECK(group.update() == outcome::applied);
    CHECK(support::taken(theta)[0] == support::about<T>(expected));
    CHECK(group.ledger().records().back().norm == support::about<T>(norm));
  };
  check(on_group, 3, 4, T(0.6), 5.0);
  check(on_group, T(0.03), T(0.04), T(0.03), 0.05);
  check(on_microbatch, 3, 4, T(0.6), 1.0);
  check(on_microbatch, T(0.03), T(0.04), T(0.03), 0.05);

  auto by_value = scaled(theta, accrue::constant_scale{.scale = 1024.0f},
                         accrue::on_microbatch(accrue::clip_by_value{.max_value = 0.5}));
  by_value.accumulate(mean_gradient{make_view<T>({1024, 256})});
  by_value.update();
  CHECK(support::taken(theta) == std::vector<T>{T(0.5), T(0.25)});
}

TEST_CASE("P-040 the state of a scale survives a restart") {
  accrue::loss_scale_state saved;
  accrue::dynamic_scale const policy{.initial = 1024.0, .growth_interval = 2};
  {
    auto group = scaled(make_view<float>({0}), policy);
    update_of<float>(group, {1});
    saved = group.loss_scale().state();
  }
  auto group = scaled(make_view<float>({0}), accrue::dynamic_scale{.growth_interval = 2});
  group.loss_scale().restore(saved);
  CHECK(group.loss_scale().state() == accrue::loss_scale_state{.scale = 1024.0f, .clean_groups = 1});
  update_of<float>(group, {1});
  CHECK(group.loss_scale().state() == accrue::loss_scale_state{.scale = 2048.0f});
  auto scale = group.loss_scale();
  CHECK_THROWS_AS(scale.restore({.scale = 0.0f}), accrue::error);
  CHECK_THROWS_AS(scale.restore({.clean_groups = -1}), accrue::error);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Policies that meet: what each of them promises holds beside the others.
#include "support/host.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <stdexcept>
#include <vector>

using accrue::mean_gradient;
using accrue::outcome;
using accrue::tokens;
using support::make_view;
using support::not_a_number;
using support::values;

namespace {

constexpr accrue::sgd whole{.learning_rate = 1.0};

template <class... Policies>
auto group_of(Kokkos::View<float*> theta, Policies... policies) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_token{}, policies..., whole);
}

struct first_term {};
struct second_term {};

struct above {
  double bound;
  KOKKOS_FUNCTION bool operator()(accrue::group_finding const& found) const { return found.norm > bound; }
};

}  // namespace

TEST_CASE("a microbatch without gradients weighs where others may be rejected") {
  auto const theta = make_view<float>({0});
  auto group = group_of(theta, accrue::reject_microbatch{});
  group.accumulate(mean_gradient{make_view<float>({2})}, tokens{100}, accrue::mean_loss{1.0});
  group.accumulate(mean_gradient{make_view<float>({not_a_number<float>})}, tokens{50}, accrue::mean_loss{9.0});
  group.accumulate(mean_gradient{accrue::no_gradient}, tokens{100}, accrue::mean_loss{3.0});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>{-1});
  CHECK(group.ledger().records().back().weight == 200.0);
  CHECK(group.ledger().records().back().loss == 2.0);

  group.accumulate(mean_gradient{make_view<float>({not_a_number<float>})}, tokens{50});
  group.accumulate(mean_gradient{accrue::no_gradient}, tokens{100});
  CHECK(group.update() == outcome::empty);  // nothing was touched
  CHECK(values(theta) == std::vector<float>{-1});

  auto counted = group_of(theta, accrue::reject_microbatch{}, accrue::at_least{tokens{100}});
  counted.accumulate(mean_gradient{make_view<float>({not_a_number<float>})}, tokens{100});
  counted.accumulate(mean_gradient{make_view<float>({1})}, tokens{100});
  CHECK(counted.update() == outcome::applied);
  counted.accumulate(mean_gradient{accrue::no_gradient}, tokens{50});
  CHECK(!counted.full());
}

TEST_CASE("accumulators that close together all close, whatever a function of the user throws") {
  accrue::shared_scale const scale(accrue::dynamic_scale{.initial = 4.0, .growth_interval = 1});
  auto const theta = make_view<float>({0});
  auto thrower = accrue::accumulator(accrue::parameters(make_view<float>({0})), accrue::per_token{}, scale,
                                     accrue::with_gradient([](auto const&) { throw std::runtime_error("by hand"); }));
  auto other = group_of(theta, scale);
  thrower.accumulate(mean_gradient{make_view<float>({4})}, tokens{1});
  other.accumulate(mean_gradient{make_view<float>({4})}, tokens{1});
  CHECK_THROWS_AS(accrue::update_together(thrower, other), std::runtime_error);
  CHECK(values(theta) == std::vector<float>{-1});
  CHECK(other.held() == accrue::microbatches{0});
  CHECK(scale.cell().value() == 8.0f);
}

TEST_CASE("a shared scale does not grow where one of several groups is vetoed and the last is empty") {
  accrue::shared_scale const scale(accrue::dynamic_scale{.initial = 4.0, .growth_interval = 2});
  auto one = group_of(make_view<float>({0}), scale);
  auto two = group_of(make_view<float>({0}), scale, accrue::veto_if(above{0.0}));
  auto three = group_of(make_view<float>({0}), scale, accrue::reject_microbatch{.max_norm = 0.5});
  auto const add = [](auto&... group) { (group.accumulate(mean_gradient{make_view<float>({4})}, tokens{1}), ...); };
  add(one, two, three);
  auto const done = accrue::update_together(one, two, three);
  CHECK(done[0] == outcome::vetoed);
  CHECK(done[1] == outcome::vetoed);
  CHECK(done[2] == outcome::empty);
  CHECK(scale.cell().state().clean_groups == 0);
  add(one, three);  // one is applied, the last is empty
  accrue::update_together(one, three);
  CHECK(scale.cell().state().clean_groups == 1);
}

TEST_CASE("settings of a scale change, and the scale stays where its initial value does") {
  auto group = group_of(make_view<float>({0}),
                        accrue::dynamic_scale{.initial = 8.0, .at_floor = accrue::overflow_at_floor::stays});
  group.accumulate(mean_gradient{make_view<float>({not_a_number<float>})}, tokens{1});
  group.update();
  CHECK(group.loss_scale().value() == 4.0f);
  group.change_loss_scale(
      accrue::dynamic_scale{.initial = 8.0, .hysteresis = 2, .at_floor = accrue::overflow_at_floor::stays});
  CHECK(group.loss_scale().value() == 4.0f);
  group.change_loss_scale(accrue::dynamic_scale{.initial = 16.0, .at_floor = accrue::overflow_at_floor::stays});
  CHECK(group.loss_scale().value() == 16.0f);
}

TEST_CASE("floor and ceiling of a scale are floats, as the scale is") {
  accrue::dynamic_scale const low{.initial = 0.2, .floor = 0.1};
  accrue::loss_scale_state state = low.initial_state();
  for (int n = 0; n < 5; ++n) state = low.after(state, true);
  CHECK(state.scale == 0.1f);
  CHECK(state.stuck == 4);
  accrue::dynamic_scale const hardly{.backoff = 0.99999999};  // the float next below is further away
  CHECK(hardly.after(hardly.initial_state(), true).stuck == 1);
}

TEST_CASE("a veto sees the weight of the first of several terms, and a term's own count stands for itself") {
  double weight = 0.0;
  auto const theta = make_view<float>({0});
  accrue::accumulator group(
      accrue::parameters(theta),
      accrue::terms(accrue::term<first_term>(accrue::per_token{}), accrue::term<second_term>(accrue::per_microbatch{})),
      accrue::veto_on_host([&weight](accrue::group_finding const& found) {
        weight = found.weight;
        return false;
      }),
      whole);
  group.accumulate(accrue::of<first_term>(mean_gradient{make_view<float>({2})}),
                   accrue::of<second_term>(mean_gradient{make_view<float>({1})}), tokens{100});
  CHECK(group.update() == outcome::applied);
  CHECK(weight == 100.0);
  group.accumulate(accrue::of<second_term>(mean_gradient{make_view<float>({1})}, tokens{5}), tokens{0});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>{-4});
}

TEST_CASE("a group of ignored microbatches is empty, whatever weight was announced") {
  auto group = group_of(make_view<float>({0}), accrue::early(tokens{100}));
  group.accumulate(mean_gradient{make_view<float>({1})}, tokens{0});
  CHECK(group.update() == outcome::empty);
}

TEST_CASE("what was rejected is known before observers look, and they may throw") {
  struct thrower {
    void microbatch_accumulated(accrue::group_counts const&) const { throw std::runtime_error("seen"); }
  };
  auto group = group_of(make_view<float>({0}), accrue::reject_microbatch{}, accrue::at_least{tokens{100}});
  group.observe(thrower{});
  CHECK_THROWS_AS(group.accumulate(mean_gradient{make_view<float>({not_a_number<float>})}, tokens{100}),
                  std::runtime_error);
  CHECK(!group.full());
  CHECK(group.ledger().rejected_microbatches() == accrue::microbatches{1});
}

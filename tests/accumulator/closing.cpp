// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What else may keep a finite update from being applied, or stop the run: vetoes, limits, errors.
#include "support/host.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

using accrue::group_finding;
using accrue::mean_gradient;
using accrue::outcome;
using accrue::tokens;
using support::make_view;
using support::not_a_number;
using support::values;

namespace {

struct norm_above {
  double bound;
  KOKKOS_FUNCTION bool operator()(group_finding const& found) const { return found.norm > bound; }
  friend bool operator==(norm_above const&, norm_above const&) = default;
};

template <class... Policies>
auto group_of(Kokkos::View<float*> theta, Policies... policies) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_token{}, policies...,
                             accrue::momentum{.learning_rate = 1.0, .factor = 0.5});
}

template <class Group>
outcome update_of(Group& group, float gradient) {
  group.accumulate(mean_gradient{make_view<float>({gradient})}, tokens{2}, accrue::mean_loss{gradient / 4});
  return group.update().result();
}
template <class Group>
std::string refusal_of(Group& group, float gradient) {
  try {
    update_of(group, gradient);
  } catch (accrue::error const& e) {
    return e.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a veto keeps parameters, state and counters of applied updates as they are, on device and host") {
  auto const check = [](auto veto) {
    auto const theta = make_view<float>({0});
    auto group = group_of(theta, veto, accrue::dynamic_scale{.initial = 4.0, .growth_interval = 2});
    CHECK(update_of(group, 4) == outcome::applied);
    CHECK(update_of(group, 40.5f) == outcome::vetoed);  // 10.125
    CHECK(values(theta) == std::vector<float>{-1});
    CHECK(group.loss_scale().state().clean_groups == 1);
    CHECK(update_of(group, not_a_number<float>) == outcome::skipped_non_finite);
    CHECK(update_of(group, 2) == outcome::applied);
    CHECK(values(theta) == std::vector<float>{-2.5f});  // the momentum of the first update, halved, and 1
    accrue::ledger const& book = group.ledger();
    CHECK(book.vetoed() == accrue::updates{1});
    CHECK(book.attempted() == accrue::updates{4});
    CHECK(book.applied() == accrue::updates{2});
    CHECK(book.records()[1].result == outcome::vetoed);
    CHECK(book.records()[1].norm == 10.125);
  };
  check(accrue::veto_if(norm_above{10.0}));
  check(accrue::veto_on_host([](group_finding const& found) { return found.norm > 10.0; }));
}

TEST_CASE("a veto sees norm, loss and counts of the group, and is asked about finite ones only") {
  std::vector<group_finding> seen;
  accrue::veto_on_host const look([&seen](group_finding const& found) {
    seen.push_back(found);
    return false;
  });
  auto const theta = make_view<float>({0});
  auto group = group_of(theta, look, accrue::reject_microbatch{});
  group.accumulate(mean_gradient{make_view<float>({3})}, tokens{4}, accrue::samples{2}, accrue::mean_loss{1.0});
  group.accumulate(mean_gradient{make_view<float>({not_a_number<float>})}, tokens{8}, accrue::samples{4},
                   accrue::mean_loss{100.0});
  group.accumulate(mean_gradient{make_view<float>({6})}, tokens{8}, accrue::samples{4}, accrue::mean_loss{4.0});
  CHECK(group.update() == outcome::applied);
  update_of(group, not_a_number<float>);
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].norm == 5.0);
  CHECK(seen[0].loss == 3.0);
  CHECK(seen[0].weight == 12.0);
  CHECK(seen[0].microbatches == 2);
  CHECK(seen[0].tokens == 12);
  CHECK(seen[0].samples == 6);
}

TEST_CASE("vetoes are equal where their predicates are, and can be assigned") {
  CHECK(accrue::veto_if(norm_above{1.0}) == accrue::veto_if(norm_above{1.0}));
  CHECK(!(accrue::veto_if(norm_above{1.0}) == accrue::veto_if(norm_above{2.0})));
  accrue::veto_if veto(norm_above{1.0});
  veto = accrue::veto_if(norm_above{3.0});
  CHECK(veto({.norm = 2.0}) == false);
  int calls = 0;
  auto const count = [&calls](group_finding const&) { return ++calls > 1; };
  accrue::veto_on_host host(count);
  auto const copy = host;
  host = copy;
  CHECK(!host({}));
  CHECK(copy({}));
}

TEST_CASE("a veto on one of those that close together is a veto on all, on device and host") {
  auto const check = [](auto veto) {
    auto const theta = make_view<float>({0}), phi = make_view<float>({0});
    auto first = group_of(theta, veto);
    auto second = group_of(phi);
    for (float const gradient : {11.0f, 9.0f}) {
      first.accumulate(mean_gradient{make_view<float>({gradient})}, tokens{1});
      second.accumulate(mean_gradient{make_view<float>({1})}, tokens{1});
      auto const [one, other] = accrue::update_together(first, second);
      CHECK(one == (gradient > 10 ? outcome::vetoed : outcome::applied));
      CHECK(other == (gradient > 10 ? outcome::vetoed : outcome::applied));
    }
    CHECK(values(theta) == std::vector<float>{-9});
    CHECK(values(phi) == std::vector<float>{-1});
  };
  check(accrue::veto_if(norm_above{10.0}));
  int asked = 0;
  check(accrue::veto_on_host([&asked](group_finding const& found) { return ++asked > 0 && found.norm > 10.0; }));
  CHECK(asked == 2);
}

TEST_CASE("a limit on skips in a row stops with an error, and never by accepting the bad update") {
  auto const theta = make_view<float>({0});
  auto group = group_of(theta, accrue::skip_group{.max_consecutive = 2});
  CHECK(refusal_of(group, not_a_number<float>) == "none");
  CHECK(refusal_of(group, 1) == "none");  // the count begins anew
  CHECK(refusal_of(group, not_a_number<float>) == "none");
  CHECK(refusal_of(group, not_a_number<float>).find("group 4 is skipped, as the last of 2 in a row") !=
        std::string::npos);
  CHECK(values(theta) == std::vector<float>{-1});
  CHECK(group.held() == accrue::microbatches{0});
  CHECK(group.ledger().skipped() == accrue::updates{3});
  CHECK(refusal_of(group, not_a_number<float>) != "none");

  auto rejecting = group_of(theta, accrue::reject_microbatch{.max_consecutive = 2});
  CHECK(refusal_of(rejecting, not_a_number<float>) == "none");
  CHECK(refusal_of(rejecting, not_a_number<float>) != "none");  // groups that rejections left empty
}

TEST_CASE("raise: a group that is not finite is closed, on the record, and an error") {
  auto const theta = make_view<float>({0});
  auto group = group_of(theta, accrue::raise{});
  CHECK(refusal_of(group, 1) == "none");
  CHECK(refusal_of(group, not_a_number<float>).find("group 2 is not finite") != std::string::npos);
  CHECK(values(theta) == std::vector<float>{-1});
  CHECK(group.ledger().records().back().result == outcome::skipped_non_finite);
  CHECK(refusal_of(group, 1) == "none");
}

TEST_CASE("settings that make no sense are refused, and policies print what they are") {
  auto const refuses = [](auto policy) { CHECK_THROWS_AS(group_of(make_view<float>({0}), policy), accrue::error); };
  refuses(accrue::skip_group{.max_consecutive = -1});
  refuses(accrue::reject_microbatch{.max_norm = 0.0});
  refuses(accrue::reject_microbatch{.max_norm = not_a_number<double>});
  refuses(accrue::constant_scale{.scale = 0.0f});
  refuses(accrue::constant_scale{.scale = support::infinite<float>});
  refuses(accrue::dynamic_scale{.initial = 0.5});  // below the floor
  refuses(accrue::dynamic_scale{.growth = 1.0});
  refuses(accrue::dynamic_scale{.backoff = 1.0});
  refuses(accrue::dynamic_scale{.growth_interval = 0});
  refuses(accrue::dynamic_scale{.floor = 0.0});
  refuses(accrue::dynamic_scale{.ceiling = 1e39});
  refuses(accrue::dynamic_scale{.hysteresis = 0});
  std::ostringstream out;
  out << accrue::dynamic_scale{} << ' ' << accrue::reject_microbatch{.max_norm = 2.0} << ' ' << accrue::skip_group{}
      << ' ' << accrue::constant_scale{.scale = 8.0f};
  CHECK(out.str() ==
        "dynamic_scale{initial=65536, growth=2, backoff=0.5, growth_interval=2000, floor=1, ceiling=1.67772e+07, "
        "hysteresis=1, refill=on_growth, at_floor=stops} reject_microbatch{max_norm=2} skip_group "
        "constant_scale{scale=8}");
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Microbatches that are left out of their group: P-011, P-012, P-041, and a scale that is far too large.
#include "support/host.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

using accrue::mean_gradient;
using accrue::microbatches;
using accrue::outcome;
using accrue::reject_microbatch;
using accrue::samples;
using accrue::sum_gradient;
using accrue::tokens;
using support::infinite;
using support::make_view;
using support::not_a_number;
using support::values;

namespace {

template <class Views, class... Policies>
auto rejecting(Views views, Policies... policies) {
  return accrue::accumulator(views, accrue::per_token{}, policies...);
}
constexpr accrue::sgd whole{.learning_rate = 1.0};

template <class Group>
accrue::record last_of(Group& group) {
  return group.ledger().records().back();
}

}  // namespace

TEST_CASE_TEMPLATE("P-012 a rejected microbatch takes its weight with it", T, float, double, accrue::bfloat16) {
  using sum = accrue::accumulation_scalar_t<T>;
  for (int bad = 0; bad < 3; ++bad) {  // first, in the middle, last
    CAPTURE(bad);
    auto const theta = make_view<sum>({0, 0});
    auto group = rejecting(accrue::parameters(theta), reject_microbatch{}, accrue::every{3}, whole);
    for (int n = 0; n < 3; ++n) {
      if (n == bad)
        group.accumulate(sum_gradient{make_view<T>({1, not_a_number<sum>})}, tokens{4}, samples{2},
                         accrue::mean_loss{not_a_number<double>});
      else
        group.accumulate(sum_gradient{make_view<T>({6, 9})}, tokens{3}, samples{1}, accrue::mean_loss{2.0});
    }
    CHECK(values(group.template snapshot<0>()) == std::vector<sum>{2, 3});
    CHECK(group.measure().largest == 3.0);
    CHECK(group.update() == outcome::applied);
    CHECK(values(theta) == std::vector<sum>{-2, -3});  // not 12 / 10
    accrue::record const found = last_of(group);
    CHECK(found.counts.microbatches == microbatches{2});
    CHECK(found.counts.tokens == tokens{6});
    CHECK(found.counts.samples == samples{2});
    CHECK(found.weight == 6.0);
    CHECK(found.rejected.microbatches == microbatches{1});
    CHECK(found.rejected.tokens == tokens{4});
    CHECK(found.loss == 2.0);
    CHECK(group.ledger().rejected_microbatches() == microbatches{1});
    CHECK(group.ledger().tokens() == tokens{10});  // handed over
  }
}

TEST_CASE("P-012 a microbatch above the bound is rejected by the norm of its own unscaled mean") {
  auto const theta = make_view<float>({0, 0});
  auto group = rejecting(accrue::parameters(theta), reject_microbatch{.max_norm = 5.0},
                         accrue::constant_scale{.scale = 16.0f}, whole);
  std::vector<std::int64_t> const ids{40, 41};
  group.accumulate(sum_gradient{make_view<float>({3 * 32, 4 * 32})}, tokens{2}, accrue::sample_ids(ids));  // 5: stays
  group.accumulate(mean_gradient{make_view<float>({0, 5.001f * 16})}, tokens{2}, accrue::sample_ids(ids));
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>{-3, -4});
  auto const found = group.ledger().rejections();
  REQUIRE(found.size() == 1);
  CHECK(found[0].microbatch == 2);
  CHECK(found[0].group == 1);
  CHECK(found[0].cause == accrue::rejection_cause::norm_too_large);
  CHECK(found[0].norm == support::about<float>(5.001));
  CHECK(found[0].sample_ids == ids);
  std::ostringstream out;
  out << found[0];
  CHECK(out.str() == "microbatch 2 of group 1 rejected: norm_too_large, norm 5.001, samples 40 41");
}

TEST_CASE("P-012 the ledger tells NaN from Inf, and keeps the last rejections") {
  auto group = rejecting(accrue::parameters(make_view<float>({0})), reject_microbatch{}, whole);
  for (int n = 1; n <= 300; ++n) {
    group.accumulate(mean_gradient{make_view<float>({n % 2 == 0 ? not_a_number<float> : infinite<float>})}, tokens{1},
                     accrue::sample_ids(std::vector<std::int64_t>{n}));
    CHECK(group.update() == outcome::empty);
  }
  auto const found = group.ledger().rejections();
  REQUIRE(found.size() == 256);
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto const n = static_cast<std::int64_t>(i) + 45;
    REQUIRE(found[i].microbatch == n);
    REQUIRE(found[i].sample_ids == std::vector<std::int64_t>{n});
    REQUIRE(found[i].cause == (n % 2 == 0 ? accrue::rejection_cause::not_a_number : accrue::rejection_cause::infinite));
  }
  CHECK(group.ledger().rejected_microbatches() == microbatches{300});
  CHECK(group.ledger().empty_groups() == 300);
  CHECK(group.ledger().attempted() == accrue::updates{0});
}

TEST_CASE("P-041 a parameter that only rejected microbatches touched is passed over, momentum and decay included") {
  auto const a = make_view<float>({1}), b = make_view<float>({1});
  auto group = rejecting(accrue::parameters(a, b), reject_microbatch{},
                         accrue::momentum{.learning_rate = 0.5, .factor = 0.5, .weight_decay = 0.5});
  auto const train = [&](float first, float second) {
    group.accumulate(mean_gradient{make_view<float>({first}), make_view<float>({second})}, tokens{1});
    group.accumulate(mean_gradient{make_view<float>({1}), accrue::no_gradient}, tokens{1});
    return group.update().result();
  };
  CHECK(train(1, 1) == outcome::applied);
  std::vector<float> const b_before = values(b);
  CHECK(train(1, not_a_number<float>) == outcome::applied);
  CHECK(values(b) == b_before);
  CHECK(values(a)[0] < 0.5f);
  CHECK(values(group.template snapshot<1>()) == std::vector<float>{0});  // of the next group, which holds nothing

  accrue::accumulator by_hand(accrue::parameters(a, b), accrue::per_token{}, reject_microbatch{},
                              accrue::with_gradient([](auto const& g) {
                                CHECK(g.touched(0));
                                CHECK(!g.touched(1));
                              }));
  by_hand.accumulate(mean_gradient{make_view<float>({1}), make_view<float>({infinite<float>})}, tokens{1});
  by_hand.accumulate(mean_gradient{make_view<float>({1}), accrue::no_gradient}, tokens{1});
  CHECK(by_hand.update() == outcome::applied);
}

TEST_CASE("P-041 what is left out does not come back in the next group, nor in one after a dropped one") {
  auto const theta = make_view<float>({0, 0});
  auto group = rejecting(accrue::parameters(theta), reject_microbatch{}, whole);
  group.accumulate(mean_gradient{make_view<float>({7, 7})}, tokens{1});
  group.discard();
  group.accumulate(mean_gradient{make_view<float>({infinite<float>, 1})}, tokens{1});
  CHECK(group.measure().norm == 0.0);
  group.accumulate(mean_gradient{make_view<float>({1, 2})}, tokens{1});
  group.accumulate(mean_gradient{make_view<float>({3, 4})}, tokens{0});  // ignored, and not looked at
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>{-1, -2});
}

TEST_CASE("P-012 boundaries that count tokens go by what was let through; every{A} by what came") {
  auto const theta = make_view<float>({0});
  auto group = rejecting(accrue::parameters(theta), reject_microbatch{}, accrue::at_least{tokens{6}}, whole);
  group.accumulate(sum_gradient{make_view<float>({12})}, tokens{3});
  group.accumulate(sum_gradient{make_view<float>({not_a_number<float>})}, tokens{3});
  CHECK(!group.full());
  group.accumulate(sum_gradient{make_view<float>({12})}, tokens{3});
  CHECK(group.full());
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>{-4});

  auto counted = rejecting(accrue::parameters(theta), reject_microbatch{}, accrue::every{2}, accrue::pad_last{}, whole);
  Kokkos::deep_copy(theta, 0.0f);
  counted.accumulate(mean_gradient{make_view<float>({not_a_number<float>})}, tokens{3});
  counted.accumulate(mean_gradient{make_view<float>({6})}, tokens{3});
  CHECK(counted.full());
  counted.update();
  CHECK(values(theta) == std::vector<float>{-6});  // a full group is not padded
}

TEST_CASE("P-012 a last group is padded by the microbatches that were let through") {
  auto const theta = make_view<float>({0});
  auto group = rejecting(accrue::parameters(theta), reject_microbatch{}, accrue::every{4}, accrue::pad_last{}, whole);
  group.accumulate(mean_gradient{make_view<float>({6})}, tokens{3});
  group.accumulate(mean_gradient{make_view<float>({not_a_number<float>})}, tokens{5});
  CHECK(group.end_of_data() == outcome::applied);
  CHECK(values(theta) == std::vector<float>{-1.5f});  // 6 * 3 / (3 * 4 / 1)
}

TEST_CASE("a scale that is far too large comes down although every microbatch is rejected") {
  auto const theta = make_view<float>({0});
  auto group = rejecting(accrue::parameters(theta), reject_microbatch{}, accrue::every{2},
                         accrue::dynamic_scale{.initial = 0x1p24, .growth_interval = 1000}, whole);
  int groups = 0;
  for (outcome last = outcome::empty; last != outcome::applied; ++groups) {
    REQUIRE(groups < 30);
    accrue::float16 const scaled(group.loss_scale().value() * 2.0f);  // the true gradient is 2
    for (int n = 0; n < 2; ++n)
      group.accumulate(mean_gradient{make_view<accrue::float16>({static_cast<float>(scaled)})}, tokens{1});
    last = group.update().result();
  }
  CHECK(values(theta) == std::vector<float>{-2});
  CHECK(group.loss_scale().value() == 0x1p14f);  // 2^15 * 2 is no float16
  CHECK(groups == 11);

  // An update is applied, and the group is an overflow all the same.
  group.accumulate(mean_gradient{make_view<float>({0x1p14f})}, tokens{1});
  group.accumulate(mean_gradient{make_view<float>({infinite<float>})}, tokens{1});
  CHECK(group.update() == outcome::applied);
  CHECK(group.loss_scale().value() == 0x1p13f);
}

TEST_CASE("a microbatch that is rejected for its norm is no overflow") {
  auto group = rejecting(accrue::parameters(make_view<float>({0})), reject_microbatch{.max_norm = 1.0},
                         accrue::dynamic_scale{.initial = 4.0, .growth_interval = 1}, whole);
  group.accumulate(mean_gradient{make_view<float>({8})}, tokens{1});
  CHECK(group.update() == outcome::empty);
  CHECK(group.loss_scale().value() == 4.0f);
}

TEST_CASE("rejecting and clipping the microbatch look at it once, by the norm of the clip") {
  auto const theta = make_view<double>({0, 0});
  accrue::on_microbatch const clip(accrue::clip_by_global_norm{.max_norm = 1.0, .order = 1.0});
  auto group = rejecting(accrue::parameters(theta), reject_microbatch{.max_norm = 7.0}, clip, whole);
  group.accumulate(mean_gradient{make_view<double>({3, 4})}, tokens{1});          // norm 7
  group.accumulate(mean_gradient{make_view<double>({3, 4.0000001})}, tokens{1});  // above
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta)[0] == support::about<double>(-3.0 / 7));
  CHECK(values(theta)[1] == support::about<double>(-4.0 / 7));
}

TEST_CASE("a group whose sums overflow although every microbatch is finite is skipped") {
  auto const theta = make_view<float>({1});
  auto group = rejecting(accrue::parameters(theta), reject_microbatch{}, whole);
  for (int n = 0; n < 2; ++n) group.accumulate(mean_gradient{make_view<float>({3e38f})}, tokens{1});
  CHECK(group.update() == outcome::skipped_non_finite);
  CHECK(values(theta) == std::vector<float>{1});
}

TEST_CASE("weights that are no integers are summed without those that were rejected, not subtracted") {
  auto const theta = make_view<double>({0});
  accrue::accumulator group(accrue::parameters(theta), accrue::weighted{}, reject_microbatch{}, whole);
  group.accumulate(mean_gradient{make_view<double>({not_a_number<double>})}, accrue::weight{1e20});
  group.accumulate(mean_gradient{make_view<double>({2})}, accrue::weight{0.5});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<double>{-2});  // (1e20 + 0.5) - 1e20 is 0
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules have the numbers of the frameworks, and go by what the ledger counts, in their own unit.
#include "device_path/fence_count.hpp"
#include "update/values.hpp"

#include <accrue/accrue.hpp>
#include <accrue/restart.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using accrue::mean_gradient;
using accrue::outcome;
using accrue::samples;
using accrue::tokens;
using accrue::updates;
namespace schedule = accrue::schedule;
using exact = long double;

/// Within a few roundings of a double.
bool close(double value, exact expected) { return std::abs(value - expected) <= 4e-16L * (1.0L + std::abs(expected)); }

/// `torch.optim.lr_scheduler.LinearLR` as it goes from one update to the next, from a base of 1.
std::vector<exact> linear_of_torch(exact start, exact end, int total, int length) {
  std::vector<exact> rates{start};
  for (int k = 1; k < length; ++k)
    rates.push_back(k > total ? rates.back()
                              : rates.back() * (1 + (end - start) / (total * start + (k - 1) * (end - start))));
  return rates;
}
/// `torch.optim.lr_scheduler.CosineAnnealingLR` likewise, up to `t_max`.
std::vector<exact> cosine_of_torch(exact least, int t_max) {
  exact const pi = std::numbers::pi_v<exact>;
  std::vector<exact> rates{1};
  for (int k = 1; k <= t_max; ++k)
    rates.push_back((1 + std::cos(pi * k / t_max)) / (1 + std::cos(pi * (k - 1) / t_max)) * (rates.back() - least) +
                    least);
  return rates;
}

/// Subtracts the scheduled rate for every gradient of 1, so that the sum of all factors is seen.
template <class Schedule>
auto group_with(Kokkos::View<double*> const& theta, Schedule const& by) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{},
                             accrue::scheduled(accrue::sgd{.learning_rate = 1.0}, by));
}

template <class Call>
std::string message_of(Call const& call) {
  try {
    call();
  } catch (accrue::error const& e) {
    return e.what();
  }
  return "nothing was thrown";
}

struct count_itself {
  KOKKOS_FUNCTION double operator()(std::int64_t done) const { return static_cast<double>(done); }
};

}  // namespace

TEST_CASE("a warm-up is LinearLR of PyTorch from 1/W, and loses no update") {
  schedule::warm_up const rises(updates{10});
  std::vector<exact> const torch = linear_of_torch(0.1L, 1, 9, 15);
  for (int n = 0; n < 15; ++n) {
    CHECK(close(rises(updates{n}), torch[static_cast<std::size_t>(n)]));
    CHECK(rises(updates{n}) == accrue::plan::warm_up(updates{n}, updates{10}));
  }
  CHECK(rises(updates{0}) == 0.1);
  CHECK(rises(updates{8}) == 0.9);
  CHECK(rises(updates{9}) == 1.0);
  CHECK(rises(updates{10}) == 1.0);
  CHECK(schedule::warm_up(updates{0})(updates{0}) == 1.0);  // none
}

TEST_CASE("a linear schedule is LinearLR of PyTorch, and hits both ends exactly") {
  schedule::linear const falls(tokens{7}, 0.3, 0.1);
  std::vector<exact> const torch = linear_of_torch(0.3L, 0.1L, 7, 10);
  for (int n = 0; n < 10; ++n) CHECK(close(falls(tokens{n}), torch[static_cast<std::size_t>(n)]));
  CHECK(falls(tokens{0}) == 0.3);
  CHECK(falls(tokens{7}) == 0.1);  // 0.3 + (0.1 - 0.3) * 1 is not
  CHECK(falls(tokens{std::int64_t{1} << 62}) == 0.1);
}

TEST_CASE("a cosine is CosineAnnealingLR of PyTorch, and stays where that one rises again") {
  schedule::cosine const falls(updates{1000}, 1.0, 0.1);
  std::vector<exact> const torch = cosine_of_torch(0.1L, 1000);
  for (int n = 0; n < 1000; ++n) CHECK(std::abs(falls(updates{n}) - torch[static_cast<std::size_t>(n)]) < 1e-15L);
  CHECK(falls(updates{0}) == 1.0);
  CHECK(std::abs(falls(updates{500}) - 0.55) < 1e-15);
  CHECK(falls(updates{1000}) == 0.1);
  CHECK(falls(updates{1500}) == 0.1);
}

TEST_CASE("an inverse square root after a warm-up is that of Transformers, and of the first paper") {
  schedule::sequence const both(schedule::warm_up(updates{40}), schedule::inverse_square_root(updates{40}));
  for (int n = 40; n < 2000; ++n) {
    exact const timescale = 40, shift = timescale - 40;
    CHECK(close(both(updates{n}), 1 / std::sqrt((n + shift) / timescale)));
    CHECK(close(both(updates{n}), std::sqrt(40.0L) * std::pow(exact(n), -0.5L)));  // over its peak at W
  }
  CHECK(both(updates{39}) == 1.0);
  CHECK(both(updates{40}) == 1.0);
  CHECK(both(updates{160}) == 0.5);
}

TEST_CASE("a sequence begins each part at 0, as SequentialLR does, and its last part goes on") {
  schedule::sequence const three(schedule::warm_up(updates{4}), schedule::cosine(updates{6}, 1.0, 0.25),
                                 schedule::constant(updates{2}, 0.25), schedule::linear(updates{4}, 0.25, 0.0));
  std::vector<exact> const cosine = cosine_of_torch(0.25L, 6);
  CHECK(three(updates{3}) == 1.0);
  for (int n = 0; n < 6; ++n) CHECK(std::abs(three(updates{4 + n}) - cosine[static_cast<std::size_t>(n)]) < 1e-15L);
  CHECK(three(updates{10}) == 0.25);
  CHECK(three(updates{12}) == 0.25);
  CHECK(three(updates{14}) == 0.125);
  CHECK(three(updates{16}) == 0.0);
  CHECK(three(updates{99}) == 0.0);
  CHECK(three.length() == 16);

  schedule::sequence const staged(schedule::constant(samples{30}), schedule::constant(samples{20}, 0.1),
                                  schedule::constant(samples{0}, 0.01));  // MultiStepLR at 30 and 50
  CHECK(staged(samples{29}) == 1.0);
  CHECK(staged(samples{30}) == 0.1);
  CHECK(staged(samples{49}) == 0.1);
  CHECK(staged(samples{50}) == 0.01);
  CHECK(staged(samples{5000}) == 0.01);
}

TEST_CASE("the length of a sequence stops at 63 bits, so that a part without a limit never ends") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  schedule::sequence const exact(schedule::warm_up(updates{1}), schedule::constant(updates{most - 1}));
  CHECK(exact.length() == most);
  schedule::sequence const beyond(schedule::warm_up(updates{4}), schedule::constant(updates{most}, 0.5),
                                  schedule::constant(updates{most}, 0.25));
  CHECK(beyond.length() == most);
  CHECK(beyond(updates{most}) == 0.5);

  schedule::sequence const nested(beyond, schedule::constant(updates{1}, 0.125));
  CHECK(nested.length() == most);
  CHECK(nested(updates{0}) == 0.25);  // a length that wrapped around would have ended already
  CHECK(nested(updates{4}) == 0.5);
  CHECK(nested(updates{most - 1}) == 0.5);
}

TEST_CASE("schedules over different units are different types, which take their own count only") {
  using over_updates = schedule::cosine<updates>;
  CHECK(std::is_invocable_v<over_updates, updates>);
  CHECK_FALSE(std::is_invocable_v<over_updates, accrue::microbatches>);
  CHECK_FALSE(std::is_invocable_v<over_updates, tokens>);
  CHECK_FALSE(std::is_invocable_v<over_updates, int>);
  CHECK_FALSE(std::is_convertible_v<schedule::cosine<tokens>, over_updates>);
  CHECK_FALSE(std::is_convertible_v<schedule::of_attempted<over_updates>, over_updates>);
}

TEST_CASE("P-020, P-022: a schedule counts applied updates: no microbatches, no skipped ones, no empty ones") {
  auto const theta = filled<double>({0}), one = filled<double>({1}), bad = filled<double>({not_a_number});
  auto group = group_with(theta, schedule::warm_up(updates{8}));
  auto const feed = [&](auto const& gradient, int count) {
    group.accumulate(mean_gradient{gradient}, tokens{count});
    group.accumulate(mean_gradient{one}, tokens{count});
    return group.update().result();
  };
  REQUIRE(feed(one, 1) == outcome::applied);  // 1/8
  REQUIRE(feed(bad, 1) == outcome::skipped_non_finite);
  REQUIRE(feed(one, 0) == outcome::empty);
  REQUIRE(feed(one, 1) == outcome::applied);  // 2/8
  REQUIRE(feed(bad, 1) == outcome::skipped_non_finite);
  REQUIRE(feed(one, 1) == outcome::applied);  // 3/8
  CHECK(values(theta) == std::vector<double>{-0.75});
  CHECK(accrue::factor_now(group.policies().update.schedule(), group.ledger()) == 0.5);
}

TEST_CASE("a schedule of attempted updates is moved by skipped ones, not by empty ones") {
  auto const theta = filled<double>({0}), one = filled<double>({1}), bad = filled<double>({not_a_number});
  schedule::of_attempted const by(schedule::warm_up(updates{8}));
  accrue::accumulator group(
      accrue::parameters(theta), accrue::per_token{}, accrue::reject_microbatch{},
      accrue::veto_if(KOKKOS_LAMBDA(accrue::group_finding const& found) { return found.tokens == 3; }),
      accrue::scheduled(accrue::sgd{.learning_rate = 1.0}, by));
  auto const feed = [&](auto const& gradient, int count) {
    group.accumulate(mean_gradient{gradient}, tokens{count});
    return group.update().result();
  };
  REQUIRE(feed(one, 1) == outcome::applied);  // 1/8
  REQUIRE(feed(one, 3) == outcome::vetoed);
  REQUIRE(feed(bad, 1) == outcome::empty);    // its only microbatch was rejected: no attempt
  REQUIRE(feed(one, 1) == outcome::applied);  // 3/8
  CHECK(values(theta) == std::vector<double>{-0.5});
  CHECK(group.ledger().attempted() == updates{3});
  CHECK(accrue::factor_now(by, group.ledger()) == 0.5);
}

TEST_CASE("schedules of samples and tokens see what was handed over before the group") {
  auto const theta = filled<double>({0}), one = filled<double>({1});
  auto const run = [&](auto const& by) {
    Kokkos::deep_copy(theta, 0.0);
    auto group = group_with(theta, by);
    for (int n = 1; n <= 4; ++n) {
      group.accumulate(mean_gradient{one}, samples{10 * n}, tokens{100 * n});
      group.accumulate(mean_gradient{one}, samples{1}, tokens{n});
      if (n == 2)
        group.discard();  // its data are gone by as well
      else
        group.update();
    }
    CHECK(accrue::factor_now(by, group.ledger()) == by(typename std::decay_t<decltype(by)>::count_type(
                                                        by.unit == accrue::clock_unit::handed_samples ? 104 : 1010)));
    return -values(theta)[0];
  };
  CHECK(run(schedule::by_function<samples>(count_itself{})) == 0 + 32 + 63);
  CHECK(run(schedule::by_function<tokens>(count_itself{})) == 0 + 303 + 606);
}

TEST_CASE("a scheduled rule is the rule with the rate set by hand, bit for bit, and without a fence") {
  auto const a = filled<double>({1, 2}), b = filled<double>({1, 2}), gradient = filled<double>({0.5, -0.25});
  auto const seldom_a = filled<float>({3}), seldom_b = filled<float>({3}),
             other = filled<float>({0.125});  // a launch of its own
  schedule::sequence const by(schedule::warm_up(updates{3}), schedule::cosine(updates{5}, 1.0, 0.1));
  accrue::accumulator group(accrue::parameter_groups(accrue::parameters(a), accrue::parameters(seldom_a)),
                            accrue::per_token{},
                            accrue::per_group{accrue::scheduled(accrue::adamw{.learning_rate = 0.1}, by),
                                              accrue::scheduled(accrue::momentum{.learning_rate = 0.5}, by)});
  accrue::accumulator by_hand(
      accrue::parameter_groups(accrue::parameters(b), accrue::parameters(seldom_b)), accrue::per_token{},
      accrue::per_group{accrue::adamw{.learning_rate = 0.1}, accrue::momentum{.learning_rate = 0.5}});
  auto const feed = [&](auto& to, int n) {
    if (n % 3 == 2)  // the run goes on for a parameter that is not touched
      to.accumulate(mean_gradient{gradient, other}, tokens{1});
    else
      to.accumulate(mean_gradient{gradient, accrue::no_gradient}, tokens{1});
    to.update();
  };
  fence_count const fences;
  for (int n = 0; n < 10; ++n) feed(group, n);
  CHECK(fences.value() == 0);
  for (int n = 0; n < 10; ++n) {
    double const factor = by(updates{n});
    by_hand.change_rule(accrue::per_group{accrue::adamw{.learning_rate = 0.1 * factor},
                                          accrue::momentum{.learning_rate = 0.5 * factor}});
    feed(by_hand, n);
  }
  CHECK(values(a) == values(b));
  CHECK(values(seldom_a) == values(seldom_b));
  CHECK(values(a)[0] < 1.0);
}

TEST_CASE("a schedule is restored with the state: count, settings, and what it counts") {
  auto const theta = filled<double>({0}), one = filled<double>({1}), bad = filled<double>({not_a_number});
  auto const feed = [&](auto& group, auto const& gradient) {
    group.accumulate(mean_gradient{gradient}, tokens{1});
    group.update();
  };
  std::stringstream file;
  {
    auto before = group_with(theta, schedule::warm_up(updates{8}));
    before.change_rule(accrue::scheduled(accrue::sgd{.learning_rate = 2.0}, schedule::warm_up(updates{4})));
    feed(before, one), feed(before, bad);
    CHECK(values(theta) == std::vector<double>{-0.5});
    save(before, file);
  }
  auto after = group_with(theta, schedule::warm_up(updates{8}));
  std::string const state = file.str();
  load(after, file);
  CHECK(after.policies().update.rule().learning_rate == 2.0);
  CHECK(after.policies().update.schedule() == schedule::warm_up(updates{4}));
  feed(after, one);
  CHECK(values(theta) == std::vector<double>{-1.5});  // 2 * 2/4; a schedule that begins anew subtracts 2 * 1/4

  auto other = group_with(theta, schedule::linear(tokens{8}, 0.5, 1.0));
  std::istringstream again(state);
  CHECK(message_of([&] { load(other, again); }).find("warm_up") != std::string::npos);
  CHECK(accrue::fixed_policy_text(schedule::linear(tokens{8}, 0.5, 1.0)) ==
        accrue::fixed_policy_text(schedule::linear(tokens{9}, 0.0, 0.5)));
  CHECK(accrue::fixed_policy_text(schedule::linear(tokens{8}, 0.5, 1.0)) !=
        accrue::fixed_policy_text(schedule::linear(samples{8}, 0.5, 1.0)));  // so that the file is refused
}

TEST_CASE("schedules print with their settings") {
  schedule::of_attempted const by(
      schedule::sequence(schedule::constant(updates{2}, 0.5), schedule::inverse_square_root(updates{9})));
  CHECK(accrue::policy_text(accrue::scheduled(accrue::sgd{.learning_rate = 0.5}, by)) ==
        "scheduled{rule=sgd{learning_rate=0.5, weight_decay=0}, schedule=of_attempted{schedule=sequence{"
        "then=constant{updates=2, value=0.5}, then=inverse_square_root{updates=9}}}}");
  CHECK(accrue::policy_text(schedule::by_function<tokens>(count_itself{})) == "by_function{unit=tokens}");
}

TEST_CASE("schedules that make no sense are refused, and the rule stays as it was") {
  auto const refuses = [&](auto const& by, char const* text) {
    std::string const message = message_of([&] { accrue::validate(accrue::scheduled(accrue::sgd{}, by)); });
    CAPTURE(message);
    CHECK(message.find(text) != std::string::npos);
  };
  refuses(schedule::inverse_square_root(updates{0}), "accrue::schedule::inverse_square_root: lasts for 0");
  refuses(schedule::constant(updates{1}, -1.0), "accrue::schedule::constant: value is -1");
  refuses(schedule::linear(updates{1}, not_a_number, 0.0), "accrue::schedule::linear: from is");
  refuses(schedule::linear(updates{1}, 0.0, endless), "accrue::schedule::linear: to is inf");
  refuses(schedule::cosine(tokens{1}, -1e-300, 0.0), "accrue::schedule::cosine: from is");
  refuses(schedule::cosine(tokens{1}, 1.0, -1.0), "accrue::schedule::cosine: to is -1");
  refuses(schedule::sequence(schedule::warm_up(updates{1}), schedule::cosine(updates{1}, 1.0, -1.0)), "to is -1");
  refuses(schedule::of_attempted(schedule::constant(updates{1}, -1.0)), "value is -1");

  auto const theta = filled<double>({0}), one = filled<double>({1});
  CHECK_THROWS_AS(group_with(theta, schedule::constant(updates{1}, -1.0)), accrue::error);
  auto group = group_with(theta, schedule::constant(updates{1}, 0.5));
  CHECK_THROWS_AS(
      group.change_rule(accrue::scheduled(accrue::sgd{.learning_rate = 1.0}, schedule::constant(updates{1}, -1.0))),
      accrue::error);
  group.accumulate(mean_gradient{one}, tokens{1});
  group.update();
  CHECK(values(theta) == std::vector<double>{-0.5});
}

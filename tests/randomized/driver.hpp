// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_RANDOMIZED_DRIVER_HPP
#define ACCRUE_TESTS_RANDOMIZED_DRIVER_HPP

#include "expectation.hpp"
#include "recipes.hpp"
#include "tensors.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// Drives one recipe through random groups and compares every group with the oracle.

namespace randomized {

/// Of all recipes together; the environment variable ACCRUE_TEST_SEED gives another one.
inline std::uint64_t seed() {
  char const* const given = std::getenv("ACCRUE_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20261130;
}

/// What the next microbatch is like, apart from its gradients.
struct next_microbatch {
  oracle::microbatch m;
  counts more;
  content what;
};
inline next_microbatch draw_microbatch(dice& roll, oracle::settings const& s, bool all_ignored, bool may_spoil) {
  next_microbatch next;
  oracle::microbatch& m = next.m;
  bool const counted = !all_ignored && roll.percent(90);
  bool const by_weight = s.normalization == oracle::unit::weight;
  m.is_mean = roll.percent(50);
  m.samples = counted || by_weight ? roll.between(1, 64) : 0;
  m.tokens = counted || by_weight ? roll.between(1, 2000) : 0;
  m.weight = counted ? roll.real(0.01, 4) : 0.0;
  bool const ignored = m.ignored(s);
  if (m.is_mean || roll.percent(90)) m.loss = oracle::loss{ignored ? nan : roll.real(-3, 3), m.is_mean};
  bool const spoils = may_spoil && roll.percent(40);
  next.what = ignored ? content::all_spoiled : spoils ? content::one_spoiled : content::numbers;
  next.more = {1, ignored ? 1 : 0, m.samples, m.tokens, roll.between(0, 50), roll.between(0, 3000)};
  return next;
}

template <class Recipe, class... Items>
class life;

/// An accumulator from construction on, beside what is expected of it.
template <class... Policies, class... Items>
class life<accrue::recipe<Policies...>, Items...> {
  using recipe = accrue::recipe<Policies...>;
  using last_group = typename recipe::last_group_type;
  using rule = typename recipe::update_type;
  using accumulator = decltype(accrue::accumulator(accrue::parameters(std::declval<Items const&>().views()...),
                                                   std::declval<Policies>()...));
  template <class P>
  using buffer_scalar = typename recipe::summation_type::template buffer_scalar<P>;

 public:
  life(dice& roll, size what) : roll_(roll) {
    (choose<Policies>::draw(roll_, values_), ...);
    expected_.settings = values_.of;
    std::vector<oracle::precision> precisions;
    std::vector<std::vector<oracle::number>> start;
    std::apply([&](auto&... each) { (add_views(each, what, precisions, start), ...); }, items_);
    expected_.start(std::move(precisions), std::move(start));
    std::apply(
        [&](auto const&... each) {
          group_.emplace(accrue::parameters(each.views()...), choose<Policies>::make(values_)...);
        },
        items_);
  }

  /// One call on the accumulator, whatever comes next.
  void act() {
    bool const is_full = full();
    CHECK(group_->full() == is_full);
    CHECK(group_->held().value() == static_cast<std::int64_t>(expected_.held()));
    std::int64_t const groups = expected_.ledger().groups;
    std::int64_t const die = roll_.between(0, 99);
    if (is_full ? die < 90 : die < 3) {
      if (roll_.percent(20)) change_rule();
      auto const done = group_->update();
      CHECK(done.result() == expected_.close());
    } else if (is_full || die < 8) {
      auto const done = group_->end_of_data();
      CHECK(done.result() == end(is_full));
    } else if (die < 9) {
      group_->discard();
      expected_.drop(accrue::outcome::discarded);
    } else if (die < 10) {
      group_->start_again();
      expected_.start_again();
    } else {
      accumulate();
    }
    expected_.compare(group_->ledger());
    if (expected_.ledger().groups > groups) compare_parameters();
  }
  [[nodiscard]] book const& ledger() const { return expected_.ledger(); }

 private:
  template <class Item>
  void add_views(Item& item, size what, std::vector<oracle::precision>& precisions,
                 std::vector<std::vector<oracle::number>>& start) {
    std::int64_t const least = precisions.empty() || what == size::one_large ? 1 : 0;
    for (std::int64_t n = roll_.between(least, 3); n > 0; --n) {
      item.add_view(roll_, what);
      precisions.push_back(precision_of<typename Item::scalar, buffer_scalar<typename Item::scalar>>());
    }
    item.fill_parameters(roll_, start);
  }
  [[nodiscard]] bool full() const {
    constexpr bool by_tokens = std::is_same_v<typename recipe::boundary_type, accrue::at_least<accrue::tokens>>;
    counts const& held = expected_.held_counts();
    return by_tokens ? held.tokens >= values_.tokens : held.microbatches >= values_.microbatches;
  }
  void change_rule() {
    choose<rule>::draw(roll_, values_);
    expected_.settings = values_.of;
    group_->change_rule(choose<rule>::make(values_));
  }

  void accumulate() {
    if (expected_.held() == 0) {
      all_ignored_ = roll_.percent(4);
      may_spoil_ = roll_.percent(ledger().attempted == 0 ? 25 : 4);  // what comes before the first update counts too
    }
    auto [m, more, what] = draw_microbatch(roll_, values_.of, all_ignored_, may_spoil_);
    auto const gradients = std::apply(
        [&, &m = m, what = what](auto&... each) { return std::tuple{each.fill_gradients(roll_, what, m)...}; }, items_);
    std::apply([&, &m = m, &more = more](auto const&... views) { hand_over(m, more, views...); }, gradients);
    expected_.add(std::move(m), more);
    if (roll_.percent(5) && expected_.measurable()) expected_.compare(group_->measure());
  }

  template <class... Views>
  void hand_over(oracle::microbatch& m, counts const& more, Views const&... views) {
    auto const accumulate = [&](auto const& contribution, auto const&... loss) {
      group_->accumulate(contribution, accrue::samples{more.samples}, accrue::tokens{more.tokens},
                         accrue::ignored_tokens{more.ignored_tokens}, accrue::positions{more.positions},
                         accrue::weight{m.weight}, loss...);
    };
    if (!m.loss) {
      accumulate(accrue::sum_gradient{views...});
    } else if (!m.is_mean) {
      accumulate(accrue::sum_gradient{views...}, accrue::sum_loss{m.loss->value});
    } else if (roll_.percent(97)) {
      accumulate(accrue::mean_gradient{views...}, accrue::mean_loss{m.loss->value});
    } else {
      m.gradients.assign(expected_.views(), std::nullopt);
      accumulate(accrue::mean_gradient{}, accrue::mean_loss{m.loss->value});
    }
  }

  /// What the end of the data should do.
  accrue::outcome end(bool is_full) {
    if (is_full || std::is_same_v<last_group, accrue::keep_last>) return expected_.close();
    if (std::is_same_v<last_group, accrue::drop_last>) return expected_.drop(accrue::outcome::dropped_last);
    if (std::is_same_v<last_group, accrue::carry_last>) return expected_.carry();
    static_assert(!std::is_same_v<last_group, accrue::refuse_last>);
    return expected_.close(static_cast<oracle::real>(values_.microbatches) /
                           static_cast<oracle::real>(expected_.held()));
  }

  void compare_parameters() {
    std::vector<std::vector<oracle::number>> found;
    std::size_t overwritten = 0;
    std::apply([&](auto const&... each) { (each.read_parameters(found, overwritten), ...); }, items_);
    CHECK(overwritten == 0);
    expected_.compare(found);
  }

  dice& roll_;
  values values_;
  std::tuple<Items...> items_;
  std::optional<accumulator> group_;
  expectation expected_;
  bool all_ignored_ = false;
  bool may_spoil_ = false;
};

/// Closes so many groups, each accumulator about twenty of them, the first one a few large ones.
template <class Recipe, class... Items>
void compare(std::string const& name, std::uint64_t stream, std::int64_t groups) {
  MESSAGE(groups << " groups of " << name << ", seed " << seed());
  dice roll(seed() + stream);
  std::int64_t closed = 0, applied = 0, skipped = 0, empty = 0;
  while (closed < groups) {
    bool const large = closed == 0;
    life<Recipe, Items...> one(roll, large ? size::one_large : size::small);
    std::int64_t const wanted = std::min<std::int64_t>(groups - closed, large ? 5 : roll.between(5, 35));
    while (one.ledger().groups < wanted) {
      INFO(name << ", group " << closed + one.ledger().groups + 1 << ", seed " << seed());
      one.act();
    }
    closed += one.ledger().groups;
    applied += one.ledger().applied;
    skipped += one.ledger().skipped;
    empty += one.ledger().empty;
  }
  // The groups are of all kinds.
  CHECK(applied > groups / 2);
  CHECK(skipped > groups / 100);
  CHECK(empty > groups / 100);
}

}  // namespace randomized

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATE_BOUNDARY_HPP
#define ACCRUE_ACCUMULATE_BOUNDARY_HPP

#include <accrue/core/facts.hpp>
#include <accrue/core/slots.hpp>

#include <concepts>
#include <string_view>
#include <utility>

namespace accrue {

/// What a policy for the slot boundary offers: whether a group that holds these counts is full.
///
/// It may name a count that every microbatch must then declare: `using needs = tokens;`.
template <class Policy>
concept boundary_policy = fills_slot<Policy, slot::boundary> && requires(Policy const p, group_counts const& held) {
  { p.full(held) } -> std::convertible_to<bool>;
};

/// A group is full after this many microbatches, ignored ones included.
///
/// Failure: 0 and negative numbers are `accrue::error`. Source: `gradient_accumulation_steps` of Accelerate and
/// DeepSpeed.
class every {
 public:
  using fills = slot::boundary;
  static constexpr std::string_view name = "every";

  template <std::integral Integer>
    requires(!std::same_as<Integer, bool>)
  explicit every(Integer n) : every(accrue::microbatches(n)) {}
  explicit every(accrue::microbatches n) : microbatches_(n) {
    if (n.value() == 0)
      throw error("accrue::every: 0 microbatches make no group", "a group would never be full", "give 1 or more");
  }

  [[nodiscard]] accrue::microbatches microbatches() const { return microbatches_; }
  [[nodiscard]] bool full(group_counts const& held) const { return held.microbatches >= microbatches_; }

  template <class Visit>
  void settings(Visit&& visit) const {
    visit("microbatches", microbatches_.value());
  }
  friend bool operator==(every const&, every const&) = default;

 private:
  accrue::microbatches microbatches_;
};

/// A group is full once it holds at least so many `samples` or `tokens` of this replica; whole microbatches only.
///
/// Failure: a target of 0 is `accrue::error`; a microbatch without the count does not compile.
template <class Count>
  requires(std::same_as<Count, samples> || std::same_as<Count, tokens>)
class at_least {
 public:
  using fills = slot::boundary;
  using needs = Count;
  static constexpr std::string_view name = "at_least";

  explicit at_least(Count target) : target_(target) {
    if (target.value() == 0)
      throw error("accrue::at_least: a group of at least 0 is full when it opens", "no microbatch would fit into it",
                  "give 1 or more");
  }

  [[nodiscard]] Count target() const { return target_; }
  [[nodiscard]] bool full(group_counts const& held) const {
    if constexpr (std::same_as<Count, samples>) {
      return held.samples >= target_;
    } else {
      return held.tokens >= target_;
    }
  }

  template <class Visit>
  void settings(Visit&& visit) const {
    visit(Count::unit_type::name, target_.value());
  }
  friend bool operator==(at_least const&, at_least const&) = default;

 private:
  Count target_;
};
template <class Count>
at_least(Count) -> at_least<Count>;

/// A group is never full by itself: the user calls `update()`. The default.
struct user_closes {
  using fills = slot::boundary;
  static constexpr std::string_view name = "user_closes";
  [[nodiscard]] bool full(group_counts const&) const { return false; }
  friend bool operator==(user_closes const&, user_closes const&) = default;
};

static_assert(boundary_policy<every> && boundary_policy<at_least<tokens>> && boundary_policy<user_closes>);

}  // namespace accrue
#endif

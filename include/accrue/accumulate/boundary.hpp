// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATE_BOUNDARY_HPP
#define ACCRUE_ACCUMULATE_BOUNDARY_HPP

#include <accrue/core/diagnostics.hpp>
#include <accrue/core/facts.hpp>
#include <accrue/core/slots.hpp>

#include <concepts>
#include <string>
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
  constexpr explicit every(Integer n) : microbatches_(at_least_one(n)) {}
  constexpr explicit every(accrue::microbatches n) : every(n.value()) {}

  [[nodiscard]] constexpr accrue::microbatches microbatches() const { return microbatches_; }
  [[nodiscard]] constexpr bool full(group_counts const& held) const { return held.microbatches >= microbatches_; }

  template <class Visit>
  void settings(Visit&& visit) const {
    visit("microbatches", microbatches_.value());
  }
  template <class Visit>
  void change_settings(Visit&& visit) {
    visit(microbatches_);
  }
  void validate() const { static_cast<void>(at_least_one(microbatches_.value())); }
  friend constexpr bool operator==(every const&, every const&) = default;

 private:
  template <std::integral Integer>
  static constexpr accrue::microbatches at_least_one(Integer n) {
    if (n < 1)
      throw error("accrue::every: " + std::to_string(n) + " microbatches make no group", "a group would never be full",
                  "give 1 or more");
    return accrue::microbatches(n);
  }

  accrue::microbatches microbatches_;
};

/// What `at_least` may wait for.
template <class Count>
concept group_target = std::same_as<Count, samples> || std::same_as<Count, tokens>;

/// A group is full once it holds at least so many `samples` or `tokens` of this replica; whole microbatches only.
///
/// Failure: a target of 0 is `accrue::error`; anything but a count of one of the two, and a microbatch without it, does
/// not compile.
template <class Count>
class at_least;

template <group_target Count>
class at_least<Count> {
 public:
  using fills = slot::boundary;
  using needs = Count;
  static constexpr std::string_view name = "at_least";

  constexpr explicit at_least(Count target) : target_(target) { validate(); }
  constexpr void validate() const {
    if (target_.value() == 0)
      throw error("accrue::at_least: a group of at least 0 is full when it opens", "no microbatch would fit into it",
                  "give 1 or more");
  }

  [[nodiscard]] constexpr Count target() const { return target_; }
  [[nodiscard]] constexpr bool full(group_counts const& held) const {
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
  template <class Visit>
  void change_settings(Visit&& visit) {
    visit(target_);
  }
  friend constexpr bool operator==(at_least const&, at_least const&) = default;

 private:
  Count target_;
};

/// Says in one line that the target has neither unit, and stands for no boundary.
template <class Other>
class at_least {
 public:
  using fills = slot::boundary;
  constexpr explicit at_least(Other const&) {
    static_assert(group_target<Other>, ACCRUE_SAY_NEITHER_SAMPLES_NOR_TOKENS);
  }
  [[nodiscard]] constexpr bool full(group_counts const&) const { return false; }
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

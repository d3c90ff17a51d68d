// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_LAST_GROUP_HPP
#define ACCRUE_FINALIZE_LAST_GROUP_HPP

#include <accrue/core/slots.hpp>
#include <accrue/core/units.hpp>

#include <concepts>
#include <string_view>

namespace accrue {

/// What `end_of_data()` does with a group that is not full.
enum class last_group_action { update, drop, carry, refuse };

/// What a policy for the slot last group offers: the action. One that updates may divide by another weight than the
/// real one, given that, the microbatches held, and how many make a full group: see `pad_last`.
template <class Policy>
concept last_group_policy = fills_slot<Policy, slot::last_group> && requires {
  { Policy::action } -> std::convertible_to<last_group_action>;
};

/// The policy divides by a weight of its own.
template <class Policy>
concept pads_weight = requires(Policy const p, double weight, microbatches count) {
  { p.padded_weight(weight, count, count) } -> std::convertible_to<double>;
};

/// Updates with what the last group really holds.
struct keep_last {
  using fills = slot::last_group;
  static constexpr std::string_view name = "keep_last";
  static constexpr last_group_action action = last_group_action::update;
  friend bool operator==(keep_last const&, keep_last const&) = default;
};

/// Throws the last group away; the ledger counts what was dropped.
struct drop_last {
  using fills = slot::last_group;
  static constexpr std::string_view name = "drop_last";
  static constexpr last_group_action action = last_group_action::drop;
  friend bool operator==(drop_last const&, drop_last const&) = default;
};

/// Leaves the last group open: the next pass over the data fills it up.
struct carry_last {
  using fills = slot::last_group;
  static constexpr std::string_view name = "carry_last";
  static constexpr last_group_action action = last_group_action::carry;
  friend bool operator==(carry_last const&, carry_last const&) = default;
};

/// Updates as if the missing microbatches had been there with zero gradient: k of A microbatches divide by N * A / k.
///
/// The only policy that divides by something not seen. Needs `every{A}` and the mean objective.
struct pad_last {
  using fills = slot::last_group;
  static constexpr std::string_view name = "pad_last";
  static constexpr last_group_action action = last_group_action::update;
  [[nodiscard]] static constexpr double padded_weight(double weight, microbatches held, microbatches full) {
    return held < full ? weight * static_cast<double>(full.value()) / static_cast<double>(held.value()) : weight;
  }
  friend bool operator==(pad_last const&, pad_last const&) = default;
};

/// A short last group is an `accrue::error`; the group stays open and as it was.
struct refuse_last {
  using fills = slot::last_group;
  static constexpr std::string_view name = "refuse_last";
  static constexpr last_group_action action = last_group_action::refuse;
  friend bool operator==(refuse_last const&, refuse_last const&) = default;
};

/// Stands where no policy was given; `end_of_data()` does not compile with it.
struct no_last_group {
  using fills = slot::last_group;
  static constexpr std::string_view name = "no_last_group";
  static constexpr last_group_action action = last_group_action::refuse;
  friend bool operator==(no_last_group const&, no_last_group const&) = default;
};

static_assert(last_group_policy<keep_last> && last_group_policy<drop_last> && last_group_policy<carry_last> &&
              last_group_policy<pad_last> && last_group_policy<refuse_last>);

}  // namespace accrue
#endif

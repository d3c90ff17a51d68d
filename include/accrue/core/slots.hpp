// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_SLOTS_HPP
#define ACCRUE_CORE_SLOTS_HPP

#include <concepts>
#include <ostream>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace accrue {

/// The questions a recipe answers, one policy each. A policy names its slot: `using fills = slot::clip;`.
namespace slot {
struct normalization {};
struct objective {};
struct boundary {};
struct last_group {};
struct clip {};
struct summation {};
struct division {};
struct loss_scale {};
struct non_finite {};
struct veto {};
struct holding {};
struct replicas {};
struct update {};
struct schedule {};  ///< not of a recipe: of a rule, see update/scheduled.hpp
}  // namespace slot

/// A value type that answers one question of the recipe.
template <class Policy>
concept policy = requires {
  typename std::remove_cvref_t<Policy>::fills;
};

template <class Policy, class Slot>
concept fills_slot = policy<Policy> && std::same_as<typename std::remove_cvref_t<Policy>::fills, Slot>;

/// How many of the policies fill the slot.
template <class Slot, class... Policies>
inline constexpr int times_filled = (0 + ... + int(fills_slot<Policies, Slot>));

/// The slot is filled at most once.
template <class Slot, class... Policies>
concept at_most_once = times_filled<Slot, Policies...>
<= 1;

/// The policy that fills the slot, or a default `Fallback` where none does.
template <class Slot, class Fallback, class... Policies>
[[nodiscard]] constexpr auto policy_for([[maybe_unused]] Policies const&... policies) {
  if constexpr (times_filled<Slot, Policies...> == 0) {
    return Fallback{};
  } else {
    constexpr std::size_t at = [] {
      std::size_t index = 0;
      bool found = false;
      ((found = found || fills_slot<Policies, Slot>, index += found ? 0 : 1), ...);
      return index;
    }();
    return std::get<at>(std::forward_as_tuple(policies...));
  }
}

template <class Slot, class Fallback, class... Policies>
using policy_for_t = decltype(policy_for<Slot, Fallback>(std::declval<Policies const&>()...));

template <policy Policy>
std::ostream& operator<<(std::ostream& out, Policy const& p);

/// Writes a policy as `name{setting=value, ...}`.
///
/// A policy says its name in a static member `name` and its settings to a visitor: `settings(visit)` calls
/// `visit("max_norm", max_norm)` for each of them. Both may be left out.
template <policy Policy>
void print_policy(std::ostream& out, Policy const& p) {
  if constexpr (requires { std::string_view(Policy::name); }) {
    out << std::string_view(Policy::name);
  } else {
    out << "user_policy";
  }
  if constexpr (requires { p.settings([](std::string_view, auto const&) {}); }) {
    char const* separator = "{";
    p.settings([&](std::string_view setting, auto const& value) {
      out << separator << setting << '=' << value;
      separator = ", ";
    });
    if (*separator == ',') out << '}';
  }
}

template <policy Policy>
std::ostream& operator<<(std::ostream& out, Policy const& p) {
  print_policy(out, p);
  return out;
}

/// A policy whose settings a restart brings back: `change_settings(visit)` calls `visit(one, other, ...)` with
/// references to them.
template <class Policy>
concept restored_policy = policy<Policy> && requires(Policy& p) {
  p.change_settings([](auto&...) {});
};

template <policy Policy, class Visit>
void change_settings([[maybe_unused]] Policy& p, [[maybe_unused]] Visit& visit) {
  if constexpr (restored_policy<Policy>) p.change_settings(visit);
}

/// Asks a policy to refuse settings that make no sense; it throws `accrue::error` from `validate()`.
template <policy Policy>
void validate(Policy const& p) {
  if constexpr (requires { p.validate(); }) p.validate();
}

}  // namespace accrue
#endif

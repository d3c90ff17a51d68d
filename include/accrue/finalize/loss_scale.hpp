// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_LOSS_SCALE_HPP
#define ACCRUE_FINALIZE_LOSS_SCALE_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/loss_scale_state.hpp>
#include <accrue/core/slots.hpp>

#include <Kokkos_Core.hpp>
#include <concepts>
#include <limits>
#include <string_view>

namespace accrue {

/// What a policy for the slot loss scale offers: whether losses are scaled at all; the state that a run begins with;
/// the state after a group that overflowed or did not, a device function; and whether a state must stop the run.
template <class Policy>
concept loss_scale_policy = fills_slot<Policy, slot::loss_scale> && requires(Policy const p, loss_scale_state state) {
  { Policy::scales } -> std::convertible_to<bool>;
  { p.initial_state() } -> std::same_as<loss_scale_state>;
  { p.after(state, true) } -> std::same_as<loss_scale_state>;
  { p.stops_at_floor() } -> std::same_as<bool>;
};

/// Gradients arrive as they are, not multiplied by a loss scale. The default.
struct unscaled {
  using fills = slot::loss_scale;
  static constexpr std::string_view name = "unscaled";
  static constexpr bool scales = false;
  [[nodiscard]] loss_scale_state initial_state() const { return {}; }
  [[nodiscard]] KOKKOS_FUNCTION loss_scale_state after(loss_scale_state state, bool) const { return state; }
  [[nodiscard]] bool stops_at_floor() const { return false; }
  friend bool operator==(unscaled const&, unscaled const&) = default;
};

/// Every loss is multiplied by the same number before its backward pass, and the group's gradient divided by it.
///
/// Order: the division comes after the last contribution, once, and before the clip. Example:
/// `accrue::constant_scale{.scale = 1024.0f}`
struct constant_scale {
  using fills = slot::loss_scale;
  static constexpr std::string_view name = "constant_scale";
  static constexpr bool scales = true;

  float scale = 1.0F;

  [[nodiscard]] loss_scale_state initial_state() const { return {.scale = scale}; }
  [[nodiscard]] KOKKOS_FUNCTION loss_scale_state after(loss_scale_state state, bool overflow) const {
    state.overflows += overflow ? 1 : 0;
    return state;
  }
  [[nodiscard]] bool stops_at_floor() const { return false; }
  template <class Visit>
  void change_settings(Visit&& visit) {
    visit(scale);
  }
  void validate() const {
    if (!(scale >= std::numeric_limits<float>::min() && scale <= std::numeric_limits<float>::max()))
      throw error("accrue::constant_scale: the scale is not a positive normal float", "gradients are divided by it",
                  "give a power of two, such as 1024");
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("scale", scale);
  }
  friend bool operator==(constant_scale const&, constant_scale const&) = default;
};

static_assert(loss_scale_policy<unscaled> && loss_scale_policy<constant_scale>);

}  // namespace accrue
#endif

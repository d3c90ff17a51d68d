// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_UPDATE_UPDATE_POLICY_HPP
#define ACCRUE_UPDATE_UPDATE_POLICY_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/run_clock.hpp>
#include <accrue/core/slots.hpp>

#include <Kokkos_Macros.hpp>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>

namespace accrue {

/// What a policy for the slot update offers: the words of state it keeps per element, and its rule for one update.
///
/// `for_update<Real>(n)` is a device function. It gets the number of this update of this parameter, from 1, and returns
/// what is called for every element: `rule(parameter, gradient, state)` with the parameter by reference, the finalized
/// gradient by value, both in the scalar of the buffer (`Real`, or `Kokkos::complex<Real>`), and `state[0]`,
/// `state[1]`, ...
template <class Policy>
concept update_policy = fills_slot<Policy, slot::update> && requires(Policy const p, std::int64_t number) {
  { p.state_words() } -> std::convertible_to<int>;
  p.template for_update<float>(number);
};

/// An update that runs on the host, of the finished gradient: its `device_part()` is a rule that leaves it in the
/// buffer, `call(finalized_gradient)` does the rest.
template <class Policy>
concept host_update_policy = fills_slot<Policy, slot::update> && requires(Policy const p) {
  { p.device_part() } -> update_policy;
};

/// An update whose settings depend on how far the run is: `device_part(clock)` is the rule that is launched.
template <class Policy>
concept clocked_update_policy = fills_slot<Policy, slot::update> && requires(Policy const p, run_clock const& clock) {
  { p.device_part(clock) } -> update_policy;
};

/// Stands where no policy was given; `update()` does not compile with it.
struct no_update {
  using fills = slot::update;
  static constexpr std::string_view name = "no_update";
  struct rule {
    template <class T, class State>
    KOKKOS_FUNCTION void operator()(T&, T const&, State const&) const {}
  };
  [[nodiscard]] static constexpr int state_words() { return 0; }
  template <class Real>
  [[nodiscard]] KOKKOS_FUNCTION rule for_update(std::int64_t) const {
    return {};
  }
  friend bool operator==(no_update const&, no_update const&) = default;
};

namespace detail {

/// A number as a user would write it, with at most six digits.
inline std::string short_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

/// Refuses a setting outside [low, high), NaN included.
inline void require_setting(std::string_view policy, std::string_view setting, double value, double low, double high) {
  if (value >= low && value < high) return;
  throw error("accrue::" + std::string(policy) + ": " + std::string(setting) + " is " + short_text(value),
              "it must be at least " + short_text(low) +
                  (high < std::numeric_limits<double>::infinity() ? " and below " + short_text(high)
                                                                  : std::string(" and finite")),
              "check the recipe or the schedule that sets it");
}
inline void require_setting(std::string_view policy, std::string_view setting, double value) {
  require_setting(policy, setting, value, 0.0, std::numeric_limits<double>::infinity());
}

}  // namespace detail

}  // namespace accrue
#endif

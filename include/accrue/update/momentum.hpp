// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_UPDATE_MOMENTUM_HPP
#define ACCRUE_UPDATE_MOMENTUM_HPP

#include <accrue/update/update_policy.hpp>

#include <Kokkos_Core.hpp>

namespace accrue {

/// d = gradient + weight_decay * theta; v = factor * v + (1 - dampening) * d, where the first update of a parameter
/// sets v = d; theta -= learning_rate * v, or learning_rate * (d + factor * v) with Nesterov.
///
/// Cost: one word of state per element. Source: `torch.optim.SGD` with momentum.
struct momentum {
  using fills = slot::update;
  static constexpr std::string_view name = "momentum";

  double learning_rate = 1e-3;
  double factor = 0.9;
  double dampening = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;

  template <class Real>
  struct rule {
    static constexpr bool by_lanes = true;
    Real learning_rate;
    Real factor;
    Real fresh;
    Real weight_decay;
    bool nesterov;
    bool first;
    template <class T, class State>
    KOKKOS_FORCEINLINE_FUNCTION void operator()(T& theta, T const& gradient, State const& state) const {
      T const d = gradient + weight_decay * theta;
      T const velocity = first ? d : factor * state[0] + fresh * d;
      state[0] = velocity;
      theta -= learning_rate * (nesterov ? T(d + factor * velocity) : velocity);
    }
  };

  [[nodiscard]] static constexpr int state_words() { return 1; }
  template <class Real>
  [[nodiscard]] KOKKOS_FUNCTION rule<Real> for_update(std::int64_t number) const {
    return {static_cast<Real>(learning_rate),
            static_cast<Real>(factor),
            static_cast<Real>(1.0 - dampening),
            static_cast<Real>(weight_decay),
            nesterov,
            number == 1};
  }

  void validate() const {
    detail::require_setting(name, "learning_rate", learning_rate);
    detail::require_setting(name, "factor", factor);
    detail::require_setting(name, "dampening", dampening);
    detail::require_setting(name, "weight_decay", weight_decay);
    if (nesterov && (factor == 0.0 || dampening != 0.0))
      throw error("accrue::momentum: Nesterov with dampening or without a factor",
                  "the look-ahead is not defined there", "give a factor above 0 and no dampening");
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("learning_rate", learning_rate);
    visit("factor", factor);
    visit("dampening", dampening);
    visit("weight_decay", weight_decay);
    visit("nesterov", nesterov);
  }
  template <class Visit>
  void change_settings(Visit&& visit) {
    visit(learning_rate, factor, dampening, weight_decay, nesterov);
  }
  friend bool operator==(momentum const&, momentum const&) = default;
};

static_assert(update_policy<momentum>);

}  // namespace accrue
#endif

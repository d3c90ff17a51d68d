// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_UPDATE_SGD_HPP
#define ACCRUE_UPDATE_SGD_HPP

#include <accrue/update/update_policy.hpp>

#include <Kokkos_Core.hpp>

namespace accrue {

/// theta -= learning_rate * (gradient + weight_decay * theta)
///
/// Source: `torch.optim.SGD` without momentum, digit for digit in double.
struct sgd {
  using fills = slot::update;
  static constexpr std::string_view name = "sgd";

  double learning_rate = 1e-3;
  double weight_decay = 0.0;

  template <class Real>
  struct rule {
    static constexpr bool by_lanes = true;
    Real learning_rate;
    Real weight_decay;
    template <class T, class State>
    KOKKOS_FORCEINLINE_FUNCTION void operator()(T& theta, T const& gradient, State const&) const {
      theta -= learning_rate * (gradient + weight_decay * theta);
    }
  };

  [[nodiscard]] static constexpr int state_words() { return 0; }
  template <class Real>
  [[nodiscard]] KOKKOS_FUNCTION rule<Real> for_update(std::int64_t) const {
    return {static_cast<Real>(learning_rate), static_cast<Real>(weight_decay)};
  }

  void validate() const {
    detail::require_setting(name, "learning_rate", learning_rate);
    detail::require_setting(name, "weight_decay", weight_decay);
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("learning_rate", learning_rate);
    visit("weight_decay", weight_decay);
  }
  template <class Visit>
  void change_settings(Visit&& visit) {
    visit(learning_rate, weight_decay);
  }
  friend bool operator==(sgd const&, sgd const&) = default;
};

static_assert(update_policy<sgd>);

}  // namespace accrue
#endif

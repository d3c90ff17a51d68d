// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_UPDATE_ADAM_HPP
#define ACCRUE_UPDATE_ADAM_HPP

#include <accrue/core/lanes.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/update/update_policy.hpp>

#include <Kokkos_Core.hpp>

namespace accrue {

namespace detail {

/// One element of Adam with the weight decay on the gradient (`coupled`) or on the parameter.
///
/// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; theta -= rate * m / (sqrt(v) / root2 + epsilon), where
/// rate = learning_rate / (1 - beta1^n) and root2 = sqrt(1 - beta2^n). AMSGrad takes the largest v seen.
template <class Real>
struct adam_rule {
  static constexpr bool by_lanes = true;
  Real rate;
  Real fresh1;
  Real beta2;
  Real fresh2;
  Real inverse_root2;
  Real epsilon;
  Real coupled_decay;
  Real kept;  ///< 1 - learning_rate * weight_decay, where the decay is decoupled
  bool amsgrad;

  template <class T, class State>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(T& theta, T const& gradient, State const& state) const {
    if constexpr (is_complex_v<T>) {  // each part has a moment of its own, as in PyTorch
      T m = state[0], v = state[1], peak = amsgrad ? state[2] : T{};
      part(theta.real(), gradient.real(), m.real(), v.real(), peak.real());
      part(theta.imag(), gradient.imag(), m.imag(), v.imag(), peak.imag());
      state[0] = m, state[1] = v;
      if (amsgrad) state[2] = peak;
    } else if (amsgrad) {
      part(theta, gradient, state[0], state[1], state[2]);
    } else {
      T none{};
      part(theta, gradient, state[0], state[1], none);
    }
  }

 private:
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION void part(T& theta, T const& gradient, T& m, T& v, T& peak) const {
    T const g = gradient + coupled_decay * theta;
    m += fresh1 * (g - m);
    v = beta2 * v + fresh2 * g * g;
    if (amsgrad) peak = larger_of(peak, v);
    theta = kept * theta - rate * m / (root_of(amsgrad ? peak : v) * inverse_root2 + epsilon);
  }
};

template <class Real, class Policy>
[[nodiscard]] KOKKOS_FUNCTION adam_rule<Real> adam_rule_for(Policy const& p, std::int64_t number, double coupled_decay,
                                                            double decoupled_decay) {
  double const n = static_cast<double>(number);
  return {static_cast<Real>(p.learning_rate / (1.0 - Kokkos::pow(p.beta1, n))),
          static_cast<Real>(1.0 - p.beta1),
          static_cast<Real>(p.beta2),
          static_cast<Real>(1.0 - p.beta2),
          static_cast<Real>(1.0 / Kokkos::sqrt(1.0 - Kokkos::pow(p.beta2, n))),
          static_cast<Real>(p.epsilon),
          static_cast<Real>(coupled_decay),
          static_cast<Real>(1.0 - p.learning_rate * decoupled_decay),
          p.amsgrad};
}

template <class Policy>
void validate_adam(Policy const& p) {
  require_setting(Policy::name, "learning_rate", p.learning_rate);
  require_setting(Policy::name, "beta1", p.beta1, 0.0, 1.0);
  require_setting(Policy::name, "beta2", p.beta2, 0.0, 1.0);
  require_setting(Policy::name, "epsilon", p.epsilon);
  require_setting(Policy::name, "weight_decay", p.weight_decay);
}

template <class Policy, class Visit>
void adam_settings(Policy const& p, Visit&& visit) {
  visit("learning_rate", p.learning_rate);
  visit("beta1", p.beta1);
  visit("beta2", p.beta2);
  visit("epsilon", p.epsilon);
  visit("weight_decay", p.weight_decay);
  visit("amsgrad", p.amsgrad);
}

}  // namespace detail

/// Adam; `weight_decay` is added to the gradient (L2), as in the paper's time. For decoupled decay take `adamw`.
///
/// Guarantee: n counts the applied updates of the parameter; a skipped group, and one that does not touch it, leaves
/// the bias correction where it was. Cost: two words of state per element, three with AMSGrad. Source: Kingma and Ba
/// 2015; Reddi et al. 2018 for AMSGrad; numbers of `torch.optim.Adam`.
struct adam {
  using fills = slot::update;
  static constexpr std::string_view name = "adam";

  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  bool amsgrad = false;

  [[nodiscard]] constexpr int state_words() const { return amsgrad ? 3 : 2; }
  template <class Real>
  [[nodiscard]] KOKKOS_FUNCTION detail::adam_rule<Real> for_update(std::int64_t number) const {
    return detail::adam_rule_for<Real>(*this, number, weight_decay, 0.0);
  }
  void validate() const { detail::validate_adam(*this); }
  template <class Visit>
  void settings(Visit&& visit) const {
    detail::adam_settings(*this, visit);
  }
  template <class Visit>
  void change_settings(Visit&& visit) {
    visit(learning_rate, beta1, beta2, epsilon, weight_decay, amsgrad);
  }
  friend bool operator==(adam const&, adam const&) = default;
};

/// Adam with decoupled weight decay: theta shrinks by learning_rate * weight_decay, whatever the gradient.
///
/// Guarantee and cost: as `adam`. Source: Loshchilov and Hutter 2019; numbers of `torch.optim.AdamW`.
struct adamw {
  using fills = slot::update;
  static constexpr std::string_view name = "adamw";

  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  bool amsgrad = false;

  [[nodiscard]] constexpr int state_words() const { return amsgrad ? 3 : 2; }
  template <class Real>
  [[nodiscard]] KOKKOS_FUNCTION detail::adam_rule<Real> for_update(std::int64_t number) const {
    return detail::adam_rule_for<Real>(*this, number, 0.0, weight_decay);
  }
  void validate() const { detail::validate_adam(*this); }
  template <class Visit>
  void settings(Visit&& visit) const {
    detail::adam_settings(*this, visit);
  }
  template <class Visit>
  void change_settings(Visit&& visit) {
    visit(learning_rate, beta1, beta2, epsilon, weight_decay, amsgrad);
  }
  friend bool operator==(adamw const&, adamw const&) = default;
};

static_assert(update_policy<adam> && update_policy<adamw>);

}  // namespace accrue
#endif

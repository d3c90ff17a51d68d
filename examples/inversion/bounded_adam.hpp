// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_INVERSION_BOUNDED_ADAM_HPP
#define ACCRUE_EXAMPLES_INVERSION_BOUNDED_ADAM_HPP

#include <accrue/update/adam.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string_view>
#include <utility>

namespace examples {

/// Adam whose parameters stay within bounds: velocities for which the wave equation is stable.
struct bounded_adam {
  using fills = accrue::slot::update;
  static constexpr std::string_view name = "bounded_adam";

  accrue::adam unbounded;
  double lowest, highest;

  template <class Real>
  struct rule {
    decltype(std::declval<accrue::adam const&>().template for_update<Real>(1)) unbounded;
    Real lowest, highest;
    template <class State>
    KOKKOS_FUNCTION void operator()(Real& theta, Real const& gradient, State const& state) const {
      unbounded(theta, gradient, state);
      theta = Kokkos::clamp(theta, lowest, highest);
    }
  };

  [[nodiscard]] int state_words() const { return unbounded.state_words(); }
  template <class Real>
  [[nodiscard]] KOKKOS_FUNCTION rule<Real> for_update(std::int64_t number) const {
    return {unbounded.template for_update<Real>(number), static_cast<Real>(lowest), static_cast<Real>(highest)};
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    unbounded.settings(visit);
    visit("lowest", lowest);
    visit("highest", highest);
  }
  friend bool operator==(bounded_adam const&, bounded_adam const&) = default;
};
static_assert(accrue::update_policy<bounded_adam>);

}  // namespace examples
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_CLIP_BY_VALUE_HPP
#define ACCRUE_FINALIZE_CLIP_BY_VALUE_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/finalize/clip_policy.hpp>

#include <Kokkos_Core.hpp>
#include <string_view>

namespace accrue {

/// Bounds every element of a gradient to [-max_value, max_value]; a complex one by its modulus, keeping the phase.
///
/// Guarantee: an element that is not finite stays so, and the finite check sees it. `max_value` infinite means off.
/// Failure: a bound that is zero, negative or NaN is `accrue::error`. Source: PyTorch's `clip_grad_value_`.
struct clip_by_value {
  using fills = slot::clip;
  static constexpr std::string_view name = "clip_by_value";
  static constexpr bool by_norm = false;

  double max_value = 1.0;

  [[nodiscard]] constexpr double norm_order() const { return 2.0; }
  [[nodiscard]] KOKKOS_FUNCTION constexpr double factor(double) const { return 1.0; }

  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION T bounded(T const& element) const {
    using real = real_t<T>;
    real const bound = static_cast<real>(max_value);
    if (!is_finite(element)) return element;
    if constexpr (is_complex_v<T>) {  // halves, in double: the modulus of two finite numbers may exceed their type
      double const half =
          Kokkos::hypot(0.5 * static_cast<double>(element.real()), 0.5 * static_cast<double>(element.imag()));
      double const allowed = 0.5 * max_value;
      return half > allowed ? element * static_cast<real>(allowed / half) : element;
    } else {
      return element > bound ? bound : element < -bound ? -bound : element;
    }
  }

  void validate() const {
    if (!(max_value > 0.0))
      throw error("accrue::clip_by_value: max_value is not above 0", "every gradient would vanish or turn around",
                  "give a positive bound, or leave the policy out for no clipping");
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("max_value", max_value);
  }
  friend bool operator==(clip_by_value const&, clip_by_value const&) = default;
};

static_assert(clip_policy<clip_by_value>);

}  // namespace accrue
#endif

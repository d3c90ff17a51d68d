// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_CLIP_BY_GLOBAL_NORM_HPP
#define ACCRUE_FINALIZE_CLIP_BY_GLOBAL_NORM_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/finalize/clip_policy.hpp>

#include <Kokkos_Core.hpp>
#include <limits>
#include <string_view>

namespace accrue {

/// Shrinks a gradient until its p-norm over all parameters is at most `max_norm`.
///
/// Order: after unscale, normalize and the finite check. `max_norm` infinite means off.
/// Guarantee: keeps the direction; a gradient within the bound is left alone, bit for bit, unless `epsilon` is given.
/// Cost: none on the group, whose norm is measured anyway; one more read of each microbatch with `on_microbatch`.
/// Failure: bounds that are zero, negative or NaN, an order below 1, a negative epsilon are `accrue::error`.
/// Source: Pascanu et al. 2013; `epsilon = 1e-6` gives the numbers of PyTorch's `clip_grad_norm_`.
struct clip_by_global_norm {
  using fills = slot::clip;
  static constexpr std::string_view name = "clip_by_global_norm";
  static constexpr bool by_norm = true;
  static constexpr bool by_lanes = true;

  double max_norm = 1.0;
  double order = 2.0;  ///< any p >= 1, infinity included; complex numbers count by their modulus
  double epsilon = 0.0;

  [[nodiscard]] constexpr double norm_order() const { return order; }

  /// What the gradient is multiplied by: 1 when its norm is within the bound.
  [[nodiscard]] KOKKOS_FUNCTION constexpr double factor(double norm) const {
    double const bound = norm + epsilon;
    return bound > max_norm ? max_norm / bound : 1.0;
  }
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION constexpr T bounded(T const& element) const {
    return element;
  }

  void validate() const {
    if (is_not_a_number(max_norm) || !(max_norm > 0.0))
      throw error("accrue::clip_by_global_norm: max_norm is not above 0", "every gradient would vanish or turn around",
                  "give a positive bound, or leave the policy out for no clipping");
    if (is_not_a_number(order) || !(order >= 1.0))
      throw error("accrue::clip_by_global_norm: order is below 1", "that is no norm", "give 1, 2 or more");
    if (order > 512.0 && order < std::numeric_limits<double>::infinity())
      throw error("accrue::clip_by_global_norm: order is above 512 and finite", "its powers leave the range of double",
                  "give infinity, from which it hardly differs");
    if (!is_finite(epsilon) || !(epsilon >= 0.0))
      throw error("accrue::clip_by_global_norm: epsilon is negative or not finite", "the factor would be wrong",
                  "give 0 or 1e-6");
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("max_norm", max_norm);
    visit("order", order);
    visit("epsilon", epsilon);
  }
  friend bool operator==(clip_by_global_norm const&, clip_by_global_norm const&) = default;
};

static_assert(clip_policy<clip_by_global_norm>);

}  // namespace accrue
#endif

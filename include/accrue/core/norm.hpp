// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_NORM_HPP
#define ACCRUE_CORE_NORM_HPP

#include <accrue/core/scalar.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace accrue {

/// Part of a p-norm: the sum of |x / 2^exponent|^p, in double.
///
/// The exponent is 0 unless the powers would overflow or vanish in double, so sums of ordinary values add exactly as
/// written. For the infinity norm `largest` is all there is.
struct norm_partial {
  double sum = 0.0;
  double largest = 0.0;  ///< the largest modulus, where it was looked for; NaN once a NaN was seen
  std::int32_t exponent = 0;
  std::int32_t non_finite = 0;  ///< decided on the bits, so it holds under -ffast-math

  /// For a restart, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(sum, largest, exponent, non_finite);
  }
};

/// The order p of a norm, its powers and roots: 1 and 2 without pow, infinity as the largest modulus.
struct norm_order {
  double p = 2.0;

  [[nodiscard]] KOKKOS_FUNCTION bool is_infinite() const { return p > 1e300; }
  [[nodiscard]] KOKKOS_FUNCTION double power(double x) const {
    if (p == 2.0) return x * x;
    if (p == 1.0 || is_infinite()) return x;
    return Kokkos::pow(x, p);
  }
  [[nodiscard]] KOKKOS_FUNCTION double root(double x) const {
    if (p == 2.0) return Kokkos::sqrt(x);
    if (p == 1.0 || is_infinite()) return x;
    return Kokkos::pow(x, 1.0 / p);
  }
};

/// The larger of two moduli; a NaN wins, whichever side it is on.
[[nodiscard]] KOKKOS_INLINE_FUNCTION double larger(double a, double b) { return (b > a || b != b) ? b : a; }

/// The power of two that brings a finite modulus near 1.
[[nodiscard]] KOKKOS_INLINE_FUNCTION std::int32_t exponent_of(double modulus) {
  return modulus > 0.0 ? static_cast<std::int32_t>(Kokkos::logb(modulus)) : 0;
}

/// x / 2^exponent, in two exact factors, because 2^1074 is no double.
struct rescale {
  double first;
  double second;
  KOKKOS_FUNCTION explicit rescale(std::int32_t exponent) {
    std::int32_t const half = exponent / 2;
    first = Kokkos::exp2(static_cast<double>(-half));
    second = Kokkos::exp2(static_cast<double>(half - exponent));
  }
  [[nodiscard]] KOKKOS_FUNCTION double operator()(double x) const { return x * first * second; }
};

/// Whether sums of powers of values up to `largest` must be taken relative to a power of two.
[[nodiscard]] KOKKOS_INLINE_FUNCTION bool needs_rescaling(norm_order order, norm_partial const& part) {
  if (part.non_finite != 0 || part.largest == 0.0 || order.is_infinite()) return false;
  if (!is_finite(part.largest)) return false;  // a modulus that no double holds
  double const power = order.power(part.largest);
  return !(power > 1e-280) || !(part.sum < 1e300);
}

/// Adds a partial to a total. Order: callers add in the order of the chunks, so the norm has the same bits for any
/// number of threads.
[[nodiscard]] KOKKOS_INLINE_FUNCTION norm_partial merged(norm_order order, norm_partial a, norm_partial const& b) {
  norm_partial sum;
  sum.largest = larger(a.largest, b.largest);
  sum.non_finite = a.non_finite | b.non_finite;
  if (sum.non_finite != 0) {
    sum.sum = (a.non_finite != 0 ? a.sum : 0.0) + (b.non_finite != 0 ? b.sum : 0.0);
  } else if (a.exponent == b.exponent || b.sum == 0.0) {
    sum.exponent = a.exponent;
    sum.sum = a.sum + b.sum;
  } else if (a.sum == 0.0) {
    sum.exponent = b.exponent;
    sum.sum = b.sum;
  } else {
    bool const a_leads = a.exponent > b.exponent;
    std::int32_t const gap = a_leads ? b.exponent - a.exponent : a.exponent - b.exponent;  // negative
    std::int32_t const half = gap / 2;  // the shrinking in two factors, because it may be no double
    double const first = order.power(Kokkos::exp2(static_cast<double>(half)));
    double const second = order.power(Kokkos::exp2(static_cast<double>(gap - half)));
    sum.exponent = a_leads ? a.exponent : b.exponent;
    sum.sum = a_leads ? a.sum + b.sum * first * second : a.sum * first * second + b.sum;
  }
  return sum;
}

/// The partial of the same values multiplied by `factor`.
[[nodiscard]] KOKKOS_INLINE_FUNCTION norm_partial times(norm_order order, norm_partial part, double factor) {
  if (factor == 1.0) return part;
  factor = Kokkos::abs(factor);
  part.largest *= factor;
  if (part.sum == 0.0) return part;
  double const product = part.sum * order.power(factor);
  if (part.non_finite != 0 || order.is_infinite() || (product > 1e-280 && product < 1e300)) {
    part.sum = product;
    return part;
  }
  // The size of the product goes into the exponent. What is left of its p-th root lies in [1/2, 1) where the sum is
  // below 1, else in [1, 2), so that no power on the way leaves the range of double.
  double const root = order.root(part.sum);
  std::int32_t exponent = exponent_of(factor) + exponent_of(root);
  bool const above = root * rescale(exponent)(factor) >= 2.0;
  exponent += (above ? 1 : 0) + (part.sum < 1.0 ? 1 : 0);
  part.exponent += exponent;
  part.sum *= order.power(rescale(exponent)(factor));
  return part;
}

/// The norm of the values divided by `divisor`; finite wherever the quotient is.
[[nodiscard]] KOKKOS_INLINE_FUNCTION double norm_of(norm_order order, norm_partial const& total, double divisor) {
  if (order.is_infinite()) return total.largest / divisor;
  if (total.exponent == 0) return order.root(total.sum) / divisor;
  return order.root(total.sum) / divisor * Kokkos::exp2(static_cast<double>(total.exponent));
}

}  // namespace accrue
#endif

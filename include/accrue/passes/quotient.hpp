// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_QUOTIENT_HPP
#define ACCRUE_PASSES_QUOTIENT_HPP

#include <accrue/core/lanes.hpp>
#include <accrue/core/scalar.hpp>

#include <Kokkos_Core.hpp>

namespace accrue {

/// What turns a raw sum, which is finite, into the gradient: sum / divisor * factor, formed in double and rounded once
/// to the buffer's scalar. For float the two numbers become one, whose rounding error a float does not see; and that
/// one is split into two floats where lanes have a fused multiplication, which lose nothing that the one rounding
/// keeps.
struct quotient_by {
  double divisor = 1.0;
  double factor = 1.0;
  double scale = 1.0;
  float high = 1.0F;  ///< scale = high + low, up to 2^-49 of it
  float low = 0.0F;
  bool splits = true;  ///< and neither leaves the range of float, nor does a product that counts

  quotient_by() = default;
  KOKKOS_FUNCTION quotient_by(double by, double times)
      : divisor(by), factor(times), scale(times / by), splits(Kokkos::abs(scale) > 1e-20 && Kokkos::abs(scale) < 1e20) {
    if (!splits) return;
    high = static_cast<float>(scale);
    low = static_cast<float>(scale - static_cast<double>(high));
  }

  template <class B>
  [[nodiscard]] KOKKOS_FUNCTION B operator()(B const& sum) const {
    if constexpr (is_complex_v<B>) {
      return B((*this)(sum.real()), (*this)(sum.imag()));
    } else if constexpr (sizeof(B) < sizeof(double)) {
      return static_cast<B>(static_cast<double>(sum) * scale);
    } else {
      return sum / divisor * factor;
    }
  }
#if ACCRUE_HAS_LANES
  [[nodiscard]] ACCRUE_ALWAYS_INLINE lanes<float> operator()(lanes<float> const& sum) const {
    if constexpr (has_fused_lanes) {
      if (splits) return fused(sum, high, sum * low);
    }
    return lanes_as<float>(lanes_as<double>(sum) * scale);
  }
  [[nodiscard]] ACCRUE_ALWAYS_INLINE lanes<double> operator()(lanes<double> const& sum) const {
    return sum / divisor * factor;
  }
#endif
};

}  // namespace accrue
#endif

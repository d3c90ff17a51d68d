// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATE_WEIGH_HPP
#define ACCRUE_ACCUMULATE_WEIGH_HPP

#include <accrue/accumulate/gate.hpp>
#include <accrue/core/norm.hpp>
#include <accrue/core/scalar.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace accrue {

/// Multiplies by w_i, a double rounded once to the real type of the buffer.
template <class B>
struct weigh_plainly {
  real_t<B> factor;
  [[nodiscard]] KOKKOS_FUNCTION weigh_plainly const& resolve() const { return *this; }
  template <class T>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T operator()(T const& gradient) const {  // an element, or lanes of them
    return gradient * factor;
  }
};

/// Multiplies by w_i and by the factor that bounds the microbatch's own norm, which is on the device.
template <class B, class Clip>
struct weigh_clipped_by_norm {
  microbatch_weight by;
  Clip clip;
  norm_order order;
  norm_partial const* total;  ///< of the gradient as it was handed over
  [[nodiscard]] KOKKOS_FUNCTION weigh_plainly<B> resolve() const {
    double const to_own = by.own_divisor == 1.0 ? by.to_own : 1.0;
    double const norm = norm_of(order, *total, by.own_divisor) * to_own;
    double const factor = is_finite(norm) ? clip.factor(norm) : norm;  // the group's finite check finds it in the sum
    return {static_cast<real_t<B>>(factor == 1.0 ? by.product : by.to_own * factor * by.weight)};
  }
};

/// Bounds every element of the microbatch's own gradient, then weighs it.
template <class B, class Clip>
struct weigh_bounded {
  microbatch_weight by;
  Clip clip;
  [[nodiscard]] KOKKOS_FUNCTION weigh_bounded const& resolve() const { return *this; }
  KOKKOS_FUNCTION B operator()(B const& gradient) const {
    using real = real_t<B>;
    return clip.bounded(B(gradient * static_cast<real>(by.to_own))) * static_cast<real>(by.weight);
  }
};

/// Adds a microbatch's loss, which lies on the device, to the group's.
template <class LossView>
struct add_loss {
  LossView loss;
  double weight;
  double* sum;
  bool first;
  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    double const term = weight * static_cast<double>(widen(loss()));
    *sum = first ? term : *sum + term;
  }
};

}  // namespace accrue
#endif

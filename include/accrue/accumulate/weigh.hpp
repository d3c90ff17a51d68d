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
  norm_partial const* total;          ///< of the gradient as it was handed over
  float const* loss_scale = nullptr;  ///< null for 1
  [[nodiscard]] KOKKOS_FUNCTION weigh_plainly<B> resolve() const {
    double const norm = own_norm(by, order, *total, loss_scale);
    double const factor = is_finite(norm) ? clip.factor(norm) : norm;  // the group's finite check finds it in the sum
    return {static_cast<real_t<B>>(factor == 1.0 ? by.product : by.to_own * factor * by.weight)};
  }
};

/// Bounds every element of the microbatch's own gradient, then weighs it.
template <class B, class Clip>
struct weigh_bounded {
  microbatch_weight by;
  Clip clip;
  float const* loss_scale = nullptr;  ///< null for 1
  [[nodiscard]] KOKKOS_FUNCTION weigh_bounded resolve() const {
    if (loss_scale == nullptr) return *this;
    double const scale = static_cast<double>(*loss_scale);
    weigh_bounded scaled = *this;
    scaled.by.to_own /= scale;
    scaled.by.weight *= scale;
    return scaled;
  }
  KOKKOS_FUNCTION B operator()(B const& gradient) const {
    using real = real_t<B>;
    return clip.bounded(B(gradient * static_cast<real>(by.to_own))) * static_cast<real>(by.weight);
  }
};

/// A loss that lies on the host, read as one on the device is.
struct loss_number {
  double value;
  [[nodiscard]] KOKKOS_FUNCTION double operator()() const { return value; }
};

/// Adds a microbatch's loss to the group's, on the device, unless the microbatch was rejected.
template <class Loss>
struct add_loss {
  Loss loss;
  double weight;
  double* sum;
  bool first;
  std::int32_t const* rejects = nullptr;
  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    bool const left_out = rejects != nullptr && *rejects != 0;
    double const term = left_out ? 0.0 : weight * static_cast<double>(widen(loss()));
    *sum = first ? term : *sum + term;
  }
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATE_WEIGH_HPP
#define ACCRUE_ACCUMULATE_WEIGH_HPP

#include <accrue/accumulate/gate.hpp>
#include <accrue/core/norm.hpp>
#include <accrue/core/scalar.hpp>

#include <Kokkos_Core.hpp>

namespace accrue {

/// Multiplies by w_i, a double rounded once to the real type of the buffer.
template <class B>
struct weigh_plainly {
  real_t<B> factor;
  [[nodiscard]] KOKKOS_FUNCTION weigh_plainly const& resolve() const { return *this; }
  KOKKOS_FUNCTION B operator()(B const& gradient) const { return gradient * factor; }
};

/// Multiplies by w_i and by the factor that bounds the microbatch's own norm, which is on the device.
template <class B>
struct weigh_clipped_by_norm {
  microbatch_weight by;
  double const* clip_factor;
  [[nodiscard]] KOKKOS_FUNCTION weigh_plainly<B> resolve() const {
    double const clip = *clip_factor;
    return {static_cast<real_t<B>>(clip == 1.0 ? by.product : by.to_own * clip * by.weight)};
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

/// Settles the clip factor of one microbatch from its partial norms.
template <class Clip>
struct settle_microbatch_clip {
  norm_order order;
  norm_partial const* partials;
  std::int64_t chunks;
  double to_own;
  Clip clip;
  double* factor;

  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    *factor = clip.factor(norm_of(order, total_of(order, partials, chunks), 1.0 / to_own));
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

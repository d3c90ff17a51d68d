// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_SUMMARIZE_HPP
#define ACCRUE_FINALIZE_SUMMARIZE_HPP

#include <accrue/core/device_scalars.hpp>
#include <accrue/core/norm.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace accrue {

/// What a gradient looks like from afar.
struct gradient_summary {
  double norm = 0.0;
  double largest = 0.0;  ///< modulus; NaN where an element is NaN
  bool finite = true;
};

/// Reads a total back as a summary of the gradient that it was measured on, divided by `divisor`. Cost: one fence.
template <class Exec>
[[nodiscard]] gradient_summary summarize(Exec const& exec, norm_order order, double divisor,
                                         device_scalars<Exec> const& scalars) {
  norm_partial const total = scalars.read(exec, "accrue::finalize: read the summary").total;
  return {norm_of(order, total, divisor), total.largest / divisor, total.non_finite == 0};
}

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_SUMMARIZE_HPP
#define ACCRUE_FINALIZE_SUMMARIZE_HPP

#include <accrue/core/device_scalars.hpp>
#include <accrue/core/launch_once.hpp>
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

/// Adds up partial norms on one thread of the device.
struct total_partials {
  norm_order order;
  norm_partial const* partials;
  std::int64_t chunks;
  norm_partial* total;
  KOKKOS_FUNCTION void operator()(std::int64_t) const { *total = total_of(order, partials, chunks); }
};

/// Reads partial norms back as a summary of the gradient they were measured on, divided by `divisor`. Cost: one fence.
template <class Exec>
[[nodiscard]] gradient_summary summarize(Exec const& exec, norm_order order, norm_partial const* partials,
                                         std::int64_t chunks, double divisor, device_scalars<Exec> const& scalars) {
  launch_once("accrue::finalize::summarize", exec, total_partials{order, partials, chunks, &scalars.data()->total});
  norm_partial const total = scalars.read(exec, "accrue::finalize: read the summary").total;
  return {norm_of(order, total, divisor), total.largest / divisor, total.non_finite == 0};
}

}  // namespace accrue
#endif

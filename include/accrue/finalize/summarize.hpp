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
  Kokkos::parallel_for("accrue::finalize::summarize",
                       Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, 1),
                       total_partials{order, partials, chunks, scalars.total.data()});
  norm_partial total;
  Kokkos::View<norm_partial, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const host(&total);
  Kokkos::deep_copy(exec, host, scalars.total);
  exec.fence("accrue::finalize: read the summary");
  return {norm_of(order, total, divisor), total.largest / divisor, total.non_finite == 0};
}

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_DEVICE_SCALARS_HPP
#define ACCRUE_CORE_DEVICE_SCALARS_HPP

#include <accrue/core/decision.hpp>
#include <accrue/core/norm.hpp>

#include <Kokkos_Core.hpp>

namespace accrue {

/// The few numbers of an open group that live where the kernels run, so that no pass waits for the host.
template <class Exec> struct device_scalars {
  using memory_space = typename Exec::memory_space;

  Kokkos::View<decision, memory_space> verdict{"accrue::finalize::verdict"};
  Kokkos::View<double, memory_space> loss{"accrue::accumulate::loss"};
  Kokkos::View<double, memory_space> microbatch_clip{"accrue::accumulate::microbatch_clip"};
  Kokkos::View<norm_partial, memory_space> total{"accrue::finalize::total"};
};

}  // namespace accrue
#endif

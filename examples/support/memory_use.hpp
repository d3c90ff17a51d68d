// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_SUPPORT_MEMORY_USE_HPP
#define ACCRUE_EXAMPLES_SUPPORT_MEMORY_USE_HPP

#include <accrue/doctor/memory_watch.hpp>

#include <cstdint>

namespace examples {

/// The most bytes that Kokkos views have held: of each memory space at its worst moment, added up.
inline std::int64_t peak_bytes(accrue::memory_watch const& watch) {
  std::int64_t all = 0;
  for (accrue::memory_peak const& each : watch.peaks()) all += each.peak;
  return all;
}

}  // namespace examples
#endif

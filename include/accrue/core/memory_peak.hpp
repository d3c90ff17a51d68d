// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_MEMORY_PEAK_HPP
#define ACCRUE_CORE_MEMORY_PEAK_HPP

#include <cstdint>
#include <ostream>
#include <string>

namespace accrue {

/// What was allocated through Kokkos in one memory space, in bytes, since somebody began to look.
struct memory_peak {
  std::string space;          ///< as Kokkos names it: Host, Cuda, HIP, ...
  std::int64_t baseline = 0;  ///< when the first group began
  std::int64_t current = 0;
  std::int64_t peak = 0;  ///< the most at any one time

  /// For an exchange, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(space, baseline, current, peak);
  }
  friend bool operator==(memory_peak const&, memory_peak const&) = default;
};

inline std::ostream& operator<<(std::ostream& out, memory_peak const& m) {
  return out << m.space << ": peak " << m.peak << " bytes, now " << m.current << ", " << m.baseline
             << " before the first group";
}

}  // namespace accrue
#endif

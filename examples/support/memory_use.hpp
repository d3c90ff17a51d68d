// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_SUPPORT_MEMORY_USE_HPP
#define ACCRUE_EXAMPLES_SUPPORT_MEMORY_USE_HPP

#include <sys/resource.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>

namespace examples {

/// The most memory that Kokkos views have held at once since `watch()`.
///
/// Order: call `watch()` after Kokkos is initialized and before the first view.
class view_memory {
 public:
  static void watch() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle, char const*, void const*, std::uint64_t bytes) {
          held += static_cast<std::int64_t>(bytes);
          most = std::max(most, held);
        });
    Kokkos::Tools::Experimental::set_deallocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle, char const*, void const*, std::uint64_t bytes) {
          held -= static_cast<std::int64_t>(bytes);
        });
  }

  [[nodiscard]] static std::int64_t bytes() { return held; }
  [[nodiscard]] static std::int64_t peak_bytes() { return most; }

 private:
  inline static std::int64_t held = 0;
  inline static std::int64_t most = 0;
};

/// The most memory of the host that the process has held at once.
inline std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  constexpr std::int64_t unit = 1;
#else
  constexpr std::int64_t unit = 1024;
#endif
  return usage.ru_maxrss * unit;
}

}  // namespace examples
#endif

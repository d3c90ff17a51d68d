// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_LAUNCH_ONCE_HPP
#define ACCRUE_CORE_LAUNCH_ONCE_HPP

#include <Kokkos_Core.hpp>
#include <string>

namespace accrue {

/// Launches `body(0)` on one thread of the instance: for what is one number, such as a loss.
template <class Exec, class Body>
void launch_once(std::string const& label, Exec const& exec, Body const& body) {
  Kokkos::parallel_for(label, Kokkos::RangePolicy<Exec>(exec, 0, 1), body);
}

}  // namespace accrue
#endif

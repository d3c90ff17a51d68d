// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_OWN_CORES_HPP
#define ACCRUE_CORE_OWN_CORES_HPP

#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace accrue {

/// The cores that this process may run on: fewer than the machine has where it is bound to some, as by `mpirun`.
struct own_cores {
  int count = 1;
  bool all_of_machine = true;

  [[nodiscard]] static own_cores of_this_process() {
    auto const all = static_cast<int>(std::thread::hardware_concurrency());
    int mine = all;
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) mine = CPU_COUNT(&set);
#endif
    return {mine > 0 ? mine : 1, mine >= all};
  }
};

}  // namespace accrue
#endif

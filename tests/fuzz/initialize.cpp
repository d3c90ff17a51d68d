// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kokkos, from the first input to the end of the process.
#include "fuzz/target.hpp"

#include <Kokkos_Core.hpp>

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  Kokkos::initialize(Kokkos::InitializationSettings().set_num_threads(1));
  return 0;
}

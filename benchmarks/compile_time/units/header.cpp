// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>

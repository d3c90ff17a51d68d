// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_MPI_COUNTED_CALLS_HPP
#define ACCRUE_TESTS_MPI_COUNTED_CALLS_HPP

#include <cstdint>

/// What went through the profiling interface of MPI.
struct counted_calls {
  std::int64_t gathers = 0;
  std::int64_t sums = 0;
  std::int64_t sums_to_owners = 0;  ///< of which each process gets a part
  std::int64_t others = 0;          ///< point to point, broadcasts, barriers
  std::int64_t gathered_bytes = 0;
  std::int64_t summed_bytes = 0;
};
extern counted_calls counted;

#endif

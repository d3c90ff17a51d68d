// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_MPI_PROCESSES_HPP
#define ACCRUE_TESTS_MPI_PROCESSES_HPP

#include <mpi.h>
#include <cstring>
#include <vector>

inline int member() {
  int number = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  return number;
}
inline int members() {
  int count = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  return count;
}

/// Whether all processes hold the same bits. Past the profiling interface, so that tests count the library's calls
/// only.
template <class T>
bool same_everywhere(std::vector<T> const& mine) {
  std::vector<T> first = mine;
  PMPI_Bcast(first.data(), static_cast<int>(first.size() * sizeof(T)), MPI_BYTE, 0, MPI_COMM_WORLD);
  int same = std::memcmp(first.data(), mine.data(), mine.size() * sizeof(T)) == 0 ? 1 : 0;
  int all = 0;
  PMPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all == 1;
}

#endif

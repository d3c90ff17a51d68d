// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mpi.h>
#include <Kokkos_Core.hpp>

int main(int argc, char* argv[]) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  int failed = 1;
  {
    Kokkos::ScopeGuard kokkos(argc, argv);
    failed = doctest::Context(argc, argv).run();
  }
  if (failed != 0) MPI_Abort(MPI_COMM_WORLD, failed);  // others may wait for this one
  MPI_Finalize();
  return failed;
}

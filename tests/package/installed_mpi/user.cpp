// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same update over MPI, by a process that is alone there.
#include <accrue/accrue.hpp>
#include <accrue/reduce/mpi_replicas.hpp>
#include <accrue/replicas.hpp>

#include <Kokkos_Core.hpp>

#include <mpi.h>
#include <iostream>

namespace {
bool run() {
  Kokkos::View<float*, Kokkos::HostSpace> const theta("theta", 1), gradient("gradient", 1);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::mpi_replicas<>(),
                            accrue::sgd{.learning_rate = 1.0});
  Kokkos::deep_copy(gradient, 2.0f);
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  Kokkos::deep_copy(gradient, 4.0f);
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{1536});
  group.update();
  std::cout << theta(0) << '\n';
  return theta(0) == -3.5f;
}
}  // namespace

int main(int argc, char* argv[]) {
  MPI_Init(&argc, &argv);
  bool right = false;
  {
    Kokkos::ScopeGuard const kokkos(argc, argv);
    right = run();
  }
  MPI_Finalize();
  return right ? 0 : 1;
}

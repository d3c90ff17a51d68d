// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two microbatches of unequal size, one update: theta moves by 3.5, not by 3.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <iostream>

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);

  Kokkos::View<float*> theta("theta", 1);        // the parameters
  Kokkos::View<float*> gradient("gradient", 1);  // what a backward pass writes

  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{},
                            accrue::sgd{.learning_rate = 1.0});

  Kokkos::deep_copy(gradient, 2.0f);
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  Kokkos::deep_copy(gradient, 4.0f);
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{1536});

  // theta -= 1.0 * (512 * 2 + 1536 * 4) / 2048
  if (group.update() != accrue::outcome::applied) return 1;

  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, theta);
  std::cout << host(0) << '\n' << group.ledger() << '\n';
}

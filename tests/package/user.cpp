// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a user's first program does with the library: two microbatches of unequal size, one update.
#include <accrue/accrue.hpp>
#include <accrue/version.hpp>

#include <Kokkos_Core.hpp>

#include <iostream>

#ifdef PACKAGE_MAJOR
static_assert(ACCRUE_VERSION_MAJOR == PACKAGE_MAJOR);
static_assert(ACCRUE_VERSION_MINOR == PACKAGE_MINOR);
static_assert(ACCRUE_VERSION_PATCH == PACKAGE_PATCH);
#endif

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);

  Kokkos::View<float*> theta("theta", 1);
  Kokkos::View<float*> gradient("gradient", 1);

  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{},
                            accrue::sgd{.learning_rate = 1.0});

  Kokkos::deep_copy(gradient, 2.0f);
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  Kokkos::deep_copy(gradient, 4.0f);
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{1536});
  if (group.update() != accrue::outcome::applied) return 1;

  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, theta);
  std::cout << host(0) << '\n' << group.ledger() << '\n';
  return host(0) == -3.5f ? 0 : 1;  // a mean of means would give -3
}

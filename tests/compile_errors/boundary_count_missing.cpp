// The group waits for samples that nobody counts.
// expected-error: accrue: accumulate() lacks the count that the boundary waits for: add accrue::samples{n} or
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::at_least{accrue::samples{64}},
                            accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#else
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512}, accrue::samples{8});
#endif
  (void)group.update();
}

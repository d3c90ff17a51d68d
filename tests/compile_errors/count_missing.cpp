// The samples of a microbatch do not say how many tokens it has.
// expected-error: accrue: accumulate() lacks the count that the normalization divides by: add accrue::tokens{n}, of
// supervised ones
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
#else
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8}, accrue::tokens{512});
#endif
  (void)group.update();
}

// The tokens of a microbatch do not say how many samples it has.
// expected-error: accrue: accumulate() lacks the count that the normalization divides by: add accrue::samples{n}
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#else
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512}, accrue::samples{8});
#endif
  (void)group.update();
}

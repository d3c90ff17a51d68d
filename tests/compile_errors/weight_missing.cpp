// A weight is never guessed from a count.
// expected-error: accrue: accumulate() lacks the count that the normalization divides by: add accrue::weight{w}
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::weighted{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#else
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512}, accrue::weight{0.5});
#endif
  (void)group.update();
}

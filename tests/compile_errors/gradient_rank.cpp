// A vector of six elements is no matrix of two by three.
// expected-error: accrue: a gradient's rank is not its parameter's, and gradients are added index by index
#include <accrue/accrue.hpp>

void use(Kokkos::View<float**> theta, Kokkos::View<float*> gradient, Kokkos::View<float**> right) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#else
  group.accumulate(accrue::mean_gradient{right}, accrue::tokens{512});
#endif
  (void)gradient;
  (void)group.update();
}

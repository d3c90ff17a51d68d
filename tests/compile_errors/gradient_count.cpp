// One gradient for two parameters: which of them has none?
// expected-error: accrue: a contribution has one gradient for each parameter, in order: write accrue::no_gradient
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> bias, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta, bias), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#else
  group.accumulate(accrue::mean_gradient{gradient, accrue::no_gradient}, accrue::tokens{512});
#endif
  (void)group.update();
}

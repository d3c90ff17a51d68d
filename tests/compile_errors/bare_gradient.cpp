// A bare view does not say whether it is a mean or a sum.
// expected-error: accrue: say how the gradient was reduced over its microbatch
// expected-error: wrap it in accrue::mean_gradient or accrue::sum_gradient
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(gradient, accrue::tokens{512});
#else
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#endif
  (void)group.update();
}

// 512 of what?
// expected-error: accrue: accumulate() takes, after the gradient, counts such as accrue::tokens{512}
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{gradient}, 512);
#else
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#endif
  (void)group.update();
}

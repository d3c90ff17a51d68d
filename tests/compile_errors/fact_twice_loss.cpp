// A loss as mean and as sum is two losses.
// expected-error: accrue: accumulate() was given the same count or the loss twice: keep one of each
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512}, accrue::mean_loss{2.5},
                   accrue::sum_loss{1280.0});
#else
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512}, accrue::mean_loss{2.5});
#endif
  (void)group.update();
}

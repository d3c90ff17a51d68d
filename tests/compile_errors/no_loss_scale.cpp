// Losses are not scaled, and the loop asks by how much.
// expected-error: accrue::accumulator: losses are not scaled in this recipe
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::unscaled{}, accrue::sgd{});
  (void)group.loss_scale();
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::constant_scale{}, accrue::sgd{});
  (void)group.loss_scale();
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

// A constant scale does not become a dynamic one.
// expected-error: accrue::accumulator: change_loss_scale() takes the type that the recipe was given
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::constant_scale{}, accrue::sgd{});
  group.change_loss_scale(accrue::dynamic_scale{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::constant_scale{}, accrue::sgd{});
  group.change_loss_scale(accrue::constant_scale{.scale = 2.0f});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

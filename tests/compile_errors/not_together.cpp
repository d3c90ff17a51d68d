// A view is no accumulator.
// expected-error: accrue::update_together: accumulators that close together
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{}, accrue::sgd{});
  accrue::update_together(group, theta);
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{}, accrue::sgd{});
  accrue::update_together(group);
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

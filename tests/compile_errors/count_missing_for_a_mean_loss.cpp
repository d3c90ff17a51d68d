// A sum needs no count under the sum objective, the mean of a loss does.
// expected-error: accrue: accumulate() lacks the count that the normalization divides by: add accrue::tokens{n}
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sum_objective{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::sum_gradient{gradient}, accrue::mean_loss{2.5});
#else
  group.accumulate(accrue::sum_gradient{gradient}, accrue::sum_loss{1280.0});
#endif
  (void)group.update();
}

// Nothing could be written through a view of const elements.
// expected-error: accrue::parameters: a view of const elements cannot be updated: pass the view of the parameters
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient, Kokkos::View<float const*> frozen) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(frozen), accrue::per_token{}, accrue::keep_last{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{}, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

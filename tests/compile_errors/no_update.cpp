// A recipe without a rule can accumulate, and not change parameters.
// expected-error: accrue::accumulator: update() changes parameters: name exactly one update policy, for example
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

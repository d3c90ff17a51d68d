// A schedule changes a rule; by itself it fills no slot.
// expected-error: accrue::accumulator: a schedule goes with the rule that it changes
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::schedule::cosine const rate(accrue::updates{1000});
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{}, rate);
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::scheduled(accrue::sgd{}, rate));
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

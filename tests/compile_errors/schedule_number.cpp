// A number is no schedule.
// expected-error: accrue::scheduled: the second argument is no schedule
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::scheduled(accrue::sgd{}, 0.5));
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{},
                            accrue::scheduled(accrue::sgd{}, accrue::schedule::constant(accrue::updates{0}, 0.5)));
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

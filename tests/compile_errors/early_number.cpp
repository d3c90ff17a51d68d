// A bare number has no unit.
// expected-error: accrue::early: announce the count that the normalization divides by: accrue::tokens{n} for per_token
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{}, accrue::early{512},
                            accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{},
                            accrue::early{accrue::tokens{512}}, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

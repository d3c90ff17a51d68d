// Weights are rounded element by element.
// expected-error: accrue::master_weights{weights, copy}: views, or vectors of views, of one rank, both real or both
#include <accrue/accrue.hpp>

void use(Kokkos::View<float**> theta, Kokkos::View<accrue::bfloat16**> copy, Kokkos::View<accrue::bfloat16*> flat) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(accrue::master_weights{theta, flat}), accrue::per_token{},
                            accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(accrue::master_weights{theta, copy}), accrue::per_token{},
                            accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{theta}, accrue::tokens{512});
  (void)group.update();
  (void)flat;
}

// A copy is written.
// expected-error: accrue::master_weights{weights, copy}: views, or vectors of views, of one rank, both real or both
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<accrue::bfloat16*> copy) {
#ifdef ACCRUE_TEST_ERROR
  Kokkos::View<accrue::bfloat16 const*> const read_only = copy;
#else
  Kokkos::View<accrue::bfloat16*> const read_only = copy;
#endif
  accrue::accumulator group(accrue::parameters(accrue::master_weights{theta, read_only}), accrue::per_token{},
                            accrue::sgd{});
  group.accumulate(accrue::mean_gradient{theta}, accrue::tokens{512});
  (void)group.update();
}

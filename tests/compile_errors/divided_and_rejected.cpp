// What was divided by the group's weight cannot take a microbatch out of it any more.
// expected-error: accrue::accumulator: accrue::early and accrue::running divide by a weight that a rejected microbatch
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::running{},
                            accrue::reject_microbatch{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::late{}, accrue::reject_microbatch{},
                            accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

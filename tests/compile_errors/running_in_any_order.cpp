// A running mean is rounded at every microbatch, so that the order of the microbatches shows.
// expected-error: accrue::accumulator: a running division rounds the sums at every microbatch, so that their order
// matters
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{},
                            accrue::order_independent{}, accrue::running{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{},
                            accrue::order_independent{}, accrue::late{}, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

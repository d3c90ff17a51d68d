// Real weights of microbatches that may be rejected are summed as they come.
// expected-error: accrue::accumulator: accrue::reject_microbatch sums weights that are no integers in the order
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::weighted{}, accrue::reject_microbatch{},
                            accrue::order_independent{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::weighted{}, accrue::skip_group{},
                            accrue::order_independent{}, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::weight{0.5});
  (void)group.update();
}

// Microbatches that are added together cannot be clipped one by one.
// expected-error: accrue::accumulator: accrue::gather adds several microbatches together, accrue::on_microbatch and
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{}, accrue::gather<2>{},
                            accrue::on_microbatch(accrue::clip_by_global_norm{}));
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{}, accrue::gather<2>{},
                            accrue::clip_by_global_norm{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

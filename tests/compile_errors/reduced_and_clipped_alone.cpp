// What is summed over replicas is no replica's own gradient.
// expected-error: accrue::accumulator: gradients that arrive summed or averaged over the replicas are no microbatch's
#include <accrue/accrue.hpp>
#include <accrue/replicas.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::clip_by_global_norm const clip{.max_norm = 1.0};
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::on_microbatch(clip),
                            accrue::in_process_replicas{accrue::summed_gradients{}}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, clip,
                            accrue::in_process_replicas{accrue::summed_gradients{}}, accrue::sgd{});
#endif
  group.accumulate(accrue::sum_gradient{gradient}, accrue::tokens{512});
  (void)accrue::update_replicas(group);
}

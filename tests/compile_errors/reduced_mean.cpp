// A mean of a microbatch cannot be told from what a framework has averaged over replicas.
// expected-error: accrue::accumulate: gradients that arrive summed or averaged over the replicas are sums
#include <accrue/accrue.hpp>
#include <accrue/replicas.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{},
                            accrue::in_process_replicas{accrue::averaged_gradients{}}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#else
  group.accumulate(accrue::sum_gradient{gradient}, accrue::tokens{512});
#endif
  (void)accrue::update_replicas(group);
}

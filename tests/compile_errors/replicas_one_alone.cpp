// The sums of the other replica would be left out.
// expected-error: accrue::accumulator: replicas of one process close together: accrue::update_replicas(a, b)
#include <accrue/accrue.hpp>
#include <accrue/replicas.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::in_process_replicas<>{},
                            accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#ifdef ACCRUE_TEST_ERROR
  (void)group.update();
#else
  (void)accrue::update_replicas(group);
#endif
}

// Replicas move their scales alike: one that they share would move once for each.
// expected-error: accrue::accumulator: replicas move their loss scales alike, and each has its own
#include <accrue/accrue.hpp>
#include <accrue/replicas.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::shared_scale const scaling(accrue::dynamic_scale{});
#else
  accrue::dynamic_scale const scaling;
#endif
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, scaling, accrue::in_process_replicas<>{},
                            accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)accrue::update_replicas(group);
}

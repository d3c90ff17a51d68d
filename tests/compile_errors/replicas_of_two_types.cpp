// Replicas are equal in everything; other models close with update_together.
// expected-error: accrue::update_replicas: takes accumulators of one type that have an update policy and a replicas
// policy
#include <accrue/accrue.hpp>
#include <accrue/replicas.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator first(accrue::parameters(theta), accrue::per_token{}, accrue::in_process_replicas<>{},
                            accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator second(accrue::parameters(theta), accrue::per_token{}, accrue::in_process_replicas<>{},
                             accrue::adamw{});
#else
  accrue::accumulator second(accrue::parameters(theta), accrue::per_token{}, accrue::in_process_replicas<>{},
                             accrue::sgd{});
#endif
  first.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)accrue::update_replicas(first, second);
}

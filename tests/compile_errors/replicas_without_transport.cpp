// A replicas policy of the user that does not say how sums go to the others.
// expected-error: accrue::accumulator: the replicas policy does not satisfy accrue::replicas_policy
#include <accrue/accrue.hpp>

struct many_replicas {
  using fills = accrue::slot::replicas;
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{}, many_replicas{},
                            accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{}, accrue::one_replica{},
                            accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

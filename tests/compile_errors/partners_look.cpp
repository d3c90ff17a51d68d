// A partner sees its own part of a microbatch only.
// expected-error: accrue::accumulator: with accrue::model_parallel nobody sees a whole microbatch or replica
#include <accrue/accrue.hpp>
#include <accrue/reduce/in_process_replicas.hpp>
#include <accrue/reduce/model_parallel.hpp>
#include <accrue/replicas.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::reject_microbatch const non_finite;
#else
  accrue::skip_group const non_finite;
#endif
  accrue::in_process_replicas<> const one;
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, non_finite,
                            accrue::model_parallel{one, one}, accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)accrue::update_replicas(group);
}

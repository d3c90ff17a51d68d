// What is carried beside the sums goes over with them, at the end.
// expected-error: accrue::accumulator: accrue::overlapped sends plain sums while the last microbatch is added
#include <accrue/accrue.hpp>
#include <accrue/reduce/in_process_replicas.hpp>
#include <accrue/reduce/overlapped.hpp>
#include <accrue/replicas.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::overlapped const replicas{accrue::in_process_replicas<>{}};
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::compensated{}, replicas,
                            accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, replicas, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)accrue::update_replicas(group);
}

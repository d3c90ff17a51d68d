// What is carried beside the sums goes over with them, at the end.
// expected-error: accrue::accumulator: accrue::overlapped sends plain sums while the last microbatch is added
#include <accrue/accrue.hpp>
#include <accrue/reduce/overlapped.hpp>
#include <accrue/replicas.hpp>

#include "support/lone_transport.hpp"

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::overlapped const replicas{support::lone_transport{}};
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::compensated{}, replicas,
                            accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, replicas, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  group.update();
}

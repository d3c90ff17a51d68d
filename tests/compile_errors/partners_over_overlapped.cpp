// Replicas of partners send their sums at the end.
// expected-error: accrue::model_parallel: partners share norms of whole sums
#include <accrue/accrue.hpp>
#include <accrue/reduce/model_parallel.hpp>
#include <accrue/reduce/overlapped.hpp>
#include <accrue/replicas.hpp>

#include "support/lone_transport.hpp"

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  support::lone_transport const one;
#ifdef ACCRUE_TEST_ERROR
  accrue::model_parallel const replicas{accrue::overlapped{one}, one};
#else
  accrue::overlapped const replicas{one};
#endif
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, replicas, accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  group.update();
}

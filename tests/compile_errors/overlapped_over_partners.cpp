// Pieces are measured as they arrive, and the norm would be that of one partner's part.
// expected-error: accrue::overlapped: stands on a transport between processes
#include <accrue/accrue.hpp>
#include <accrue/reduce/model_parallel.hpp>
#include <accrue/reduce/overlapped.hpp>
#include <accrue/replicas.hpp>

#include "support/lone_transport.hpp"

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  support::lone_transport const one;
#ifdef ACCRUE_TEST_ERROR
  accrue::overlapped const replicas{accrue::model_parallel{one, one}};
#else
  accrue::model_parallel const replicas{one, one};
#endif
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, replicas, accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  group.update();
}

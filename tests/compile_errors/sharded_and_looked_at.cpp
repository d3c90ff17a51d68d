// A replica has its part of the sums only, and cannot show the whole.
// expected-error: accrue::accumulator: no replica of accrue::sharded has the whole sum
#include <accrue/accrue.hpp>
#include <accrue/reduce/sharded.hpp>
#include <accrue/replicas.hpp>
#include <support/lone_transport.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sharded{support::lone_transport{}},
                            accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#ifdef ACCRUE_TEST_ERROR
  (void)group.measure();
#endif
  group.update();
  (void)group.ledger().records().back().norm;
}

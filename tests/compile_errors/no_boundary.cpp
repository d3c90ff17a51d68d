// No group of this accumulator closes by itself, so there is nothing to change.
// expected-error: accrue::accumulator: change_boundary() takes another value of the boundary policy given at
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::every{16}, accrue::sgd{});
#endif
  group.change_boundary(accrue::every{8});
}

// An accumulator that has no update policy cannot close with others.
// expected-error: accrue::update_together: accumulators that close together
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> phi) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator other(accrue::parameters(phi), accrue::per_token{});
#else
  accrue::accumulator other(accrue::parameters(phi), accrue::per_token{}, accrue::sgd{});
#endif
  accrue::update_together(group, other);
}

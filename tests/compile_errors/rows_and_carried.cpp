// Rows are added to the sums alone.
// expected-error: accrue: accrue::compensated and accrue::order_independent keep more than the sums
#include <accrue/accrue.hpp>

void use(Kokkos::View<float**> theta, Kokkos::View<int*> indices, Kokkos::View<float**> values) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::compensated{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{accrue::rows(indices, values)}, accrue::tokens{512});
}

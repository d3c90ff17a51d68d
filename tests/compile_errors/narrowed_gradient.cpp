// A sum in float would throw away half of the digits of a double.
// expected-error: accrue: a gradient is wider than its accumulation buffer, or complex where the parameter is real
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<double*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::widened<double>{}, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

// The imaginary part would have no place to go.
// expected-error: accrue: a gradient is wider than its accumulation buffer, or complex where the parameter is real
#include <accrue/accrue.hpp>

void use(Kokkos::View<double*> theta, Kokkos::View<double*> gradient,
         Kokkos::View<Kokkos::complex<double>*> complex_gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{complex_gradient}, accrue::tokens{512});
#else
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#endif
  (void)group.update();
}

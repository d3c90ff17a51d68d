// A pointer does not know its extent.
// expected-error: accrue: a gradient is a Kokkos view, a std::vector of views, a std::optional view, or
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{gradient.data()}, accrue::tokens{512});
#else
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#endif
  (void)group.update();
}

// The same of one that may be absent.
// expected-error: accrue: a gradient's rank is not its parameter's, and gradients are added index by index
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, std::optional<Kokkos::View<float>> gradient,
         std::optional<Kokkos::View<float*>> right) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#else
  group.accumulate(accrue::mean_gradient{right}, accrue::tokens{512});
#endif
  (void)gradient;
  (void)group.update();
}

// What a summation carries beside the sums has no place in a gradient that is given away.
// expected-error: accrue::accumulator: adopt() makes sums of gradients where they lie
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::compensated{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  (void)group.adopt(accrue::mean_gradient{std::move(gradient)}, accrue::tokens{512});
#else
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#endif
}

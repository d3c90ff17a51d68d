// It changes a copy, and the parameter stays where it was.
// expected-error: accrue::accumulator: the update rule is not called as f(theta, gradient) or f(theta, gradient, state)
#include <accrue/accrue.hpp>

struct descend {
#ifdef ACCRUE_TEST_ERROR
  KOKKOS_FUNCTION float operator()(float theta, float gradient) const { return theta - gradient; }
#else
  KOKKOS_FUNCTION float operator()(float& theta, float gradient) const { return theta -= gradient; }
#endif
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::per_element(descend{}));
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

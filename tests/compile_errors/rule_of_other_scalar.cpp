// The rule takes float, the gradients are summed in double.
// expected-error: accrue::accumulator: the update rule is not called as f(theta, gradient) or f(theta, gradient, state)
#include <accrue/accrue.hpp>

#ifdef ACCRUE_TEST_ERROR
using scalar = float;
#else
using scalar = double;
#endif

struct descend {
  KOKKOS_FUNCTION void operator()(scalar& theta, scalar gradient) const { theta -= gradient; }
};

void use(Kokkos::View<double*> theta, Kokkos::View<double*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::per_element(descend{}),
                            accrue::keep_last{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

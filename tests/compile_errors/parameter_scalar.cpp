// Integers cannot follow a gradient.
// expected-error: accrue::parameters: a parameter's scalar is none of float, double, complex, float16, bfloat16
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient, Kokkos::View<int*> whole_numbers) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(whole_numbers), accrue::per_token{}, accrue::keep_last{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{}, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

// Two bare views: the second one stands where a policy does, and one line says what to do with both.
// expected-error: accrue::accumulator: a view stands where policies do: wrap all views in one accrue::parameters(...)
#include <accrue/accrue.hpp>

void use(Kokkos::View<float**> weight, Kokkos::View<float*> bias) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(weight, bias, accrue::per_token{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(weight, bias), accrue::per_token{}, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{weight, bias}, accrue::tokens{512});
  (void)group.update();
}

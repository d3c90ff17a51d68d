// A parameter that an update can show needs no luck.
// expected-error: accrue::stochastic_rounding{weights}: a view, or a vector of views, of float16 or bfloat16
#include <accrue/accrue.hpp>

void use(Kokkos::View<accrue::bfloat16*> narrow, Kokkos::View<float*> wide) {
#ifdef ACCRUE_TEST_ERROR
  (void)narrow;
  accrue::accumulator group(accrue::parameters(accrue::stochastic_rounding{wide}), accrue::per_token{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(accrue::stochastic_rounding{narrow}), accrue::per_token{},
                            accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{wide}, accrue::tokens{512});
  (void)group.update();
}

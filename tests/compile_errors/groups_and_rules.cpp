// Two rules, and one set of parameters that could take either.
// expected-error: accrue::accumulator: accrue::per_group{...} holds one rule for each set in
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> bias, Kokkos::View<float*> gradient,
         Kokkos::View<float*> bias_gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta, bias), accrue::per_token{}, accrue::keep_last{},
                            accrue::per_group{accrue::adamw{}, accrue::sgd{}});
#else
  accrue::accumulator group(accrue::parameter_groups(accrue::parameters(theta), accrue::parameters(bias)),
                            accrue::per_token{}, accrue::keep_last{},
                            accrue::per_group{accrue::adamw{}, accrue::sgd{}});
#endif
  group.accumulate(accrue::mean_gradient{gradient, bias_gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

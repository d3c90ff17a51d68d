// The type of the buffer is missing.
// expected-error: accrue::accumulator: the summation policy does not satisfy accrue::summation_policy: it needs
#include <accrue/accrue.hpp>

struct as_parameters {
  using fills = accrue::slot::summation;
#ifndef ACCRUE_TEST_ERROR
  template <class Parameter>
  using buffer_scalar = accrue::accumulation_scalar_t<Parameter>;
#endif
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, as_parameters{}, accrue::keep_last{},
                            accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

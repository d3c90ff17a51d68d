// Sums of 16-bit gradients would be lost in 16 bits.
// expected-error: buffer_scalar<Parameter>, float or double, not narrower than the parameter
#include <accrue/accrue.hpp>

struct as_parameters {
  using fills = accrue::slot::summation;
#ifdef ACCRUE_TEST_ERROR
  template <class Parameter>
  using buffer_scalar = Parameter;
#else
  template <class Parameter>
  using buffer_scalar = accrue::accumulation_scalar_t<Parameter>;
#endif
};

void use(Kokkos::View<accrue::bfloat16*> theta, Kokkos::View<accrue::bfloat16*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, as_parameters{}, accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

// The rule sees a parameter in the scalar of its sums: a double would come back as a float.
// expected-error: buffer_scalar<Parameter>, float or double, not narrower than the parameter
#include <accrue/accrue.hpp>

struct in_float {
  using fills = accrue::slot::summation;
#ifdef ACCRUE_TEST_ERROR
  template <class Parameter>
  using buffer_scalar =
      std::conditional_t<accrue::is_complex_v<Parameter>, accrue::accumulation_scalar_t<Parameter>, float>;
#else
  template <class Parameter>
  using buffer_scalar = accrue::accumulation_scalar_t<Parameter>;
#endif
};

void use(Kokkos::View<double*> theta, Kokkos::View<double*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, in_float{}, accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

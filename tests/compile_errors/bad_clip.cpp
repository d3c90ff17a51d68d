// A factor alone: the order of the norm is missing.
// expected-error: accrue::accumulator: the clip policy does not satisfy accrue::clip_policy: it needs by_norm,
#include <accrue/accrue.hpp>

struct halve_when_large {
  using fills = accrue::slot::clip;
  static constexpr bool by_norm = true;
#ifndef ACCRUE_TEST_ERROR
  double norm_order() const { return 2.0; }
#endif
  KOKKOS_FUNCTION double factor(double norm) const { return norm > 1.0 ? 0.5 : 1.0; }
  template <class T>
  KOKKOS_FUNCTION T bounded(T const& element) const {
    return element;
  }
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, halve_when_large{}, accrue::keep_last{},
                            accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

// A bound that would round sums in double to float.
// expected-error: accrue::accumulator: the clip policy's bounded(element) does not return every scalar
#include <accrue/accrue.hpp>

struct no_climbing {
  using fills = accrue::slot::clip;
  static constexpr bool by_norm = false;
  double norm_order() const { return 2.0; }
  KOKKOS_FUNCTION double factor(double) const { return 1.0; }
#ifdef ACCRUE_TEST_ERROR
  KOKKOS_FUNCTION float bounded(float element) const { return element < 0.0f ? 0.0f : element; }
#else
  template <class T>
  KOKKOS_FUNCTION T bounded(T const& element) const {
    return element < T(0) ? T(0) : element;
  }
#endif
};

void use(Kokkos::View<double*> theta, Kokkos::View<double*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, no_climbing{}, accrue::keep_last{},
                            accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

// The divisor of a group is missing.
// expected-error: accrue::accumulator: the objective policy does not satisfy accrue::objective_policy: it needs
#include <accrue/accrue.hpp>

struct half_of_the_mean {
  using fills = accrue::slot::objective;
  static constexpr bool own_is_mean = true;
#ifndef ACCRUE_TEST_ERROR
  static double divisor(double weight) { return 2.0 * weight; }
#endif
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, half_of_the_mean{}, accrue::keep_last{},
                            accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

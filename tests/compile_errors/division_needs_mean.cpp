// A sum is divided by nothing.
// expected-error: accrue::accumulator: accrue::early and accrue::running divide by the weight of the group, which the
// sum objective does not
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{}, accrue::running{},
                            accrue::sum_objective{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{}, accrue::running{},
                            accrue::mean_objective{}, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

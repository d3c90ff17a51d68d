// The type of a division is fixed at construction, its settings are not.
// expected-error: accrue::accumulator: change_division() takes another value of the division policy given at
// construction
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::early{accrue::tokens{1}},
                            accrue::sgd{});
#endif
  group.change_division(accrue::early{accrue::tokens{512}});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

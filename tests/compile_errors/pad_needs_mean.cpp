// A sum is divided by nothing, so nothing can be padded.
// expected-error: accrue::accumulator: pad_last divides by a padded weight: it needs accrue::mean_objective{}
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::every{16}, accrue::pad_last{},
                            accrue::sum_objective{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::every{16}, accrue::pad_last{},
                            accrue::mean_objective{}, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

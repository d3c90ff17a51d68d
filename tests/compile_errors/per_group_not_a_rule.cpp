// A clip is no rule.
// expected-error: accrue::per_group: every argument is an update policy, for example accrue::sgd{}
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::per_group{accrue::clip_by_value{}});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::per_group{accrue::sgd{}});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

// One predicate decides.
// expected-error: accrue::accumulator: two policies fill the slot veto: keep one predicate
#include <accrue/accrue.hpp>

struct never {
  KOKKOS_FUNCTION bool operator()(accrue::group_finding const&) const { return false; }
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::veto_if(never{}), accrue::no_veto{},
                            accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::veto_if(never{}), accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

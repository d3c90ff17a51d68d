// The predicate takes a norm instead of what was found.
// expected-error: accrue::accumulator: the veto does not satisfy accrue::veto_policy
#include <accrue/accrue.hpp>

struct by_norm {
  KOKKOS_FUNCTION bool operator()(double* norm) const { return *norm > 1.0; }
};
struct by_finding {
  KOKKOS_FUNCTION bool operator()(accrue::group_finding const& found) const { return found.norm > 1.0; }
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::veto_if(by_norm{}), accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::veto_if(by_finding{}),
                            accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

// Two answers to how many sets are held.
// expected-error: accrue::accumulator: two policies fill the slot holding: keep one, for example accrue::gather<4>{}
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{}, accrue::gather<2>{},
                            accrue::gather<4>{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{}, accrue::gather<4>{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

// More sets than one pass adds.
// expected-error: accrue::gather<k>: k is 1, 2, 3 or 4
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{}, accrue::gather<5>{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{}, accrue::gather<4>{});
#endif
  auto const [gradient] = group.next_gradients();
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}

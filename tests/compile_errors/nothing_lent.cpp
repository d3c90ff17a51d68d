// Without gather there is no memory to lend.
// expected-error: accrue::accumulator: next_gradients() lends memory for gradients: give the accumulator
// accrue::gather<1>
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{}, accrue::gather<1>{});
#endif
  auto const [gradient] = group.next_gradients();
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
}

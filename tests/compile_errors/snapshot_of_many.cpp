// A vector of views has no one view that a copy could be.
// expected-error: accrue::accumulator: snapshot<I>() copies a parameter given as one view; a vector of views
#include <accrue/accrue.hpp>

#include <vector>

void use(Kokkos::View<float*> theta, std::vector<Kokkos::View<float*>> layers) {
  accrue::accumulator group(accrue::parameters(theta, layers), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  auto const copy = group.snapshot<1>();
#else
  auto const copy = group.snapshot<0>();
#endif
  (void)copy;
}

// A vector of numbers is no view.
// expected-error: accrue::parameters: a parameter is a Kokkos view or a std::vector of views
#include <accrue/accrue.hpp>

#include <vector>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient, std::vector<float> const& numbers) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(numbers), accrue::per_token{}, accrue::keep_last{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{}, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}

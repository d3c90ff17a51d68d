// A vector is no mdspan, but a pointer and an extent.
// expected-error: accrue::from_mdspan: the argument is no mdspan; give one, or use accrue::from_pointer
#include <accrue/interop/mdspan.hpp>

#include <vector>

double use(std::vector<double>& numbers) {
#ifdef ACCRUE_TEST_ERROR
  auto const gradient = accrue::from_mdspan(numbers);
#else
  auto const gradient = accrue::from_pointer(numbers.data(), numbers.size());
#endif
  return *gradient.data();
}

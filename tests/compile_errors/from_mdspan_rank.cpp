// An mdspan may have any rank, a view may not.
// expected-error: accrue::from_mdspan: a Kokkos view has 8 indices at most; give an mdspan of lower rank
#include <accrue/interop/mdspan.hpp>

double first(double* data) {
#ifdef ACCRUE_TEST_ERROR
  auto const gradient =
      accrue::from_mdspan(Kokkos::mdspan<double, Kokkos::dextents<int, 9>>(data, 2, 1, 1, 1, 1, 1, 1, 1, 1));
#else
  auto const gradient =
      accrue::from_mdspan(Kokkos::mdspan<double, Kokkos::dextents<int, 8>>(data, 2, 1, 1, 1, 1, 1, 1, 1));
#endif
  return *gradient.data();
}

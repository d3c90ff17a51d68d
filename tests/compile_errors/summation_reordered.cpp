// A compiler that reorders sums and has no barrier against it: as with -ffast-math before g++ 12 or clang 16.
// expected-error: accrue: this summation depends on the order of additions
#include <accrue/accrue.hpp>

#ifdef ACCRUE_TEST_ERROR
template <>
inline constexpr bool accrue::rounds_as_written_v<double> = false;
#endif

double use(double x, double y) {
  double sums[3];
  accrue::binned<3>::begin(sums, x);
  accrue::binned<3>::add(sums, y);
  return accrue::binned<3>::value(sums);
}

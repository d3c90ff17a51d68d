// A diagonal matrix stores no matrix; its diagonal is a vector.
// expected-error: accrue::from_eigen: this is no dense Eigen object; give a matrix, vector, array, map or block
#include <accrue/interop/eigen.hpp>

double use(Eigen::DiagonalMatrix<double, 3>& scale) {
#ifdef ACCRUE_TEST_ERROR
  auto const gradient = accrue::from_eigen(scale);
#else
  auto const gradient = accrue::from_eigen(scale.diagonal());
#endif
  return gradient(0);
}

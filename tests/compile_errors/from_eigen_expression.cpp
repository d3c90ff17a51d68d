// A sum of matrices is computed when it is assigned; until then it has no memory that a view could show.
// expected-error: accrue::from_eigen: this is an expression without memory of its own; evaluate it into a matrix first
#include <accrue/interop/eigen.hpp>

double use(Eigen::MatrixXd const& a, Eigen::MatrixXd const& b) {
#ifdef ACCRUE_TEST_ERROR
  auto const gradient = accrue::from_eigen(a + b);
#else
  Eigen::MatrixXd const sum = a + b;
  auto const gradient = accrue::from_eigen(sum);
#endif
  return *gradient.data();
}

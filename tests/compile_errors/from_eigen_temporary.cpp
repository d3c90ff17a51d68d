// A temporary matrix is gone at the end of the statement, and its view would dangle.
// expected-error: accrue::from_eigen: this matrix is a temporary, gone before its view is used; give it a name first
#include <accrue/interop/eigen.hpp>

double use(Eigen::VectorXd (*gradient_of)(int)) {
#ifdef ACCRUE_TEST_ERROR
  auto const gradient = accrue::from_eigen(gradient_of(1));
#else
  Eigen::VectorXd const named = gradient_of(1);
  auto const gradient = accrue::from_eigen(named);
#endif
  return gradient(0);
}

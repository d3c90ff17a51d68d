// A Ref to const that is made on the spot may hold a copy of its own, which dies with it.
// expected-error: accrue::from_eigen: this matrix is a temporary, gone before its view is used; give it a name first
#include <accrue/interop/eigen.hpp>

double use(Eigen::MatrixXd const& a) {
  using reference = Eigen::Ref<Eigen::VectorXd const>;
#ifdef ACCRUE_TEST_ERROR
  auto const gradient = accrue::from_eigen(reference(a.row(1).transpose()));
#else
  reference const row(a.row(1).transpose());
  auto const gradient = accrue::from_eigen(row);
#endif
  return gradient(0);
}

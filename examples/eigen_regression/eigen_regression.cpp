// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Least squares with Eigen: the parameters and the gradient are Eigen's own vectors, and nothing is copied.
#include <accrue/accrue.hpp>
#include <accrue/interop/eigen.hpp>

#include <Eigen/Core>
#include <Eigen/LU>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>

using matrix = Eigen::Matrix<double, Eigen::Dynamic, 3>;

/// The gradient of the squared errors of some rows, summed over them, of which there need not be equally many. Returns
/// what it is the gradient of.
double backward(matrix const& a, Eigen::VectorXd const& b, Eigen::Vector3d const& theta, Eigen::Vector3d& gradient) {
  Eigen::VectorXd const error = a * theta - b;
  gradient = 2 * a.transpose() * error;
  return error.squaredNorm();
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  constexpr int rows = 100, microbatch = 16;  // 7 microbatches, the last of 4 rows
  matrix A(rows, 3);
  Eigen::VectorXd b(rows);
  for (int i = 0; i < rows; ++i) {
    double const x = i / 50.0 - 1;
    A.row(i) << 1, x, x * x;
    b(i) = std::exp(x);
  }

  Eigen::Vector3d theta = Eigen::Vector3d::Zero(), gradient;
  accrue::accumulator group(Kokkos::DefaultHostExecutionSpace{}, accrue::parameters(accrue::from_eigen(theta)),
                            accrue::per_sample{}, accrue::keep_last{},
                            accrue::momentum{.learning_rate = 0.2, .factor = 0.9});

  Eigen::Vector3d const solution = (A.transpose() * A).inverse() * (A.transpose() * b);
  std::cout << "pass   mean square   distance from Eigen's own solution\n";
  double distance = 0;
  for (int pass = 1; pass <= 200; ++pass) {
    for (int first = 0; first < rows; first += microbatch) {
      int const count = std::min(microbatch, rows - first);
      double const squares = backward(A.middleRows(first, count), b.segment(first, count), theta, gradient);
      group.accumulate(accrue::sum_gradient{accrue::from_eigen(gradient)}, accrue::samples{count},
                       accrue::sum_loss{squares});
      Kokkos::fence();  // Eigen, which knows no execution space, writes the gradient next
    }
    group.update();
    Kokkos::fence();  // and reads the parameters
    distance = (theta - solution).norm();
    if (pass == 1 || pass % 40 == 0)
      std::cout << std::setw(4) << pass << std::scientific << std::setprecision(2) << std::setw(14)
                << group.ledger().records().back().loss.value_or(0) << std::setw(37) << distance << '\n';
  }
  std::cout << std::fixed << std::setprecision(4) << "exp(x) = " << theta(0) << " + " << theta(1) << " x + " << theta(2)
            << " x^2, nearly\n";
  return distance < 1e-3 ? 0 : 1;
}

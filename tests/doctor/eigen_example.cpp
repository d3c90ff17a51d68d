// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// As every_example.cpp; a file of its own, because there need be no Eigen.
#include <accrue/accrue.hpp>
#include <accrue/doctor/examine.hpp>
#include <accrue/interop/eigen.hpp>

#include <doctest/doctest.h>
#include <Eigen/Dense>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>

namespace of_eigen_regression {
#include "../../examples/eigen_regression/eigen_regression.cpp"
}

namespace doctor = accrue::doctor;

TEST_CASE("the example eigen_regression is healthy, and with sums that are called means it is not") {
  Eigen::Vector3d theta(0.5, 0.25, -1.0), gradient;
  auto const examined = [&](bool calls_it_mean) {
    return doctor::examine(
        accrue::parameters(accrue::from_eigen(theta)),
        [&](doctor::examples const& rows) {
          auto const count = static_cast<Eigen::Index>(rows.size());
          of_eigen_regression::matrix a(count, 3);
          Eigen::VectorXd b(count);
          for (Eigen::Index i = 0; i < count; ++i) {
            double const x = static_cast<double>(rows[static_cast<std::size_t>(i)]) / 50.0 - 1;
            a.row(i) << 1, x, x * x;
            b(i) = std::exp(x);
          }
          double const loss = of_eigen_regression::backward(a, b, theta, gradient);
          auto const view = accrue::from_eigen(gradient);
          accrue::samples const samples{count};
          return calls_it_mean ? doctor::microbatch(accrue::mean_gradient{view}, samples, accrue::mean_loss{loss})
                               : doctor::microbatch(accrue::sum_gradient{view}, samples, accrue::sum_loss{loss});
        },
        accrue::samples{30});
  };
  doctor::report const found = examined(false);
  CAPTURE(found);
  CHECK(found.healthy());
  CHECK(examined(true).diagnoses() == std::vector{doctor::diagnosis::sum_called_mean});
}

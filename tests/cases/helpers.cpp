// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The other files here rest on support/host.hpp; here it is seen to work, and to fail.
#include "support/host.hpp"

#include <accrue/core/half.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <stdexcept>
#include <vector>

using support::about;
using support::fill;
using support::make_view;
using support::taken;
using support::values;

TEST_CASE_TEMPLATE("values go by index, not by address", Layout, Kokkos::LayoutLeft, Kokkos::LayoutRight) {
  Kokkos::View<float**, Layout> matrix("matrix", 2, 3);
  fill(matrix, {1, 2, 3, 4, 5, 6});
  CHECK(values(matrix) == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(values(Kokkos::subview(matrix, 1, Kokkos::ALL)) == std::vector<float>{4, 5, 6});
  CHECK(values(Kokkos::subview(matrix, Kokkos::ALL, 1)) == std::vector<float>{2, 5});

  fill(Kokkos::subview(matrix, Kokkos::ALL, 2), {7, 8});
  CHECK(values(matrix) == std::vector<float>{1, 2, 7, 4, 5, 8});
  CHECK_FALSE(values(matrix) == std::vector<float>{1, 2, 3, 4, 5, 8});
  CHECK_THROWS_AS(fill(matrix, {1, 2, 3}), std::invalid_argument);
}

TEST_CASE("values of rank 0, of length 0, of 16 bits and of complex numbers come through") {
  Kokkos::View<double> scalar("scalar");
  fill(scalar, {2.5});
  CHECK(values(scalar) == std::vector<double>{2.5});
  CHECK(values(make_view<double>({})).empty());
  CHECK(values(make_view<accrue::bfloat16>({1.5f, -256.0f})) == std::vector<float>{1.5f, -256.0f});
  CHECK(values(make_view<Kokkos::complex<float>>({{1, 2}})) == std::vector<Kokkos::complex<float>>{{1, 2}});
}

TEST_CASE("what is taken is put back to 0") {
  auto const theta = make_view<float>({-3, 4});
  CHECK(taken(theta) == std::vector<float>{3, -4});
  CHECK(values(theta) == std::vector<float>{0, 0});
}

TEST_CASE("the tolerance is relative, and as wide as the cases say") {
  CHECK(1000.0009 == about<float>(1000.0));
  CHECK_FALSE(1000.002 == about<float>(1000.0));
  CHECK_FALSE(1e-9 == about<float>(2e-9));  // a tolerance that adds 1 to the scale takes these as equal
  CHECK(1.0 + 5e-13 == about<double>(1.0));
  CHECK_FALSE(1.0 + 5e-12 == about<double>(1.0));
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver.hpp"

using namespace accrue;
using Kokkos::LayoutLeft;
using Kokkos::LayoutRight;
using Kokkos::LayoutStride;
using randomized::compare;
using randomized::item;
using complex_float = Kokkos::complex<float>;
using complex_double = Kokkos::complex<double>;

TEST_CASE("random groups of 16-bit gradients, each microbatch clipped, equal the mean of clipped ones") {
  compare<recipe<per_sample, every, carry_last, on_microbatch<clip_by_global_norm>, momentum>,
          item<float, bfloat16, 2, LayoutRight>, item<bfloat16, float, 1, LayoutLeft>>("16-bit gradients", 7, 900);
}

TEST_CASE("random groups of a complex sum, each microbatch bounded, equal the sum of bounded ones") {
  compare<recipe<per_microbatch, sum_objective, every, keep_last, on_microbatch<clip_by_value>, sgd>,
          item<complex_double, complex_double, 2, LayoutLeft>>("a complex sum, bounded", 8, 900);
}

TEST_CASE("random groups of 16-bit parameters equal the full batch, rounded once") {
  compare<recipe<per_token, every, pad_last, sgd>, item<bfloat16, float, 3, LayoutStride>,
          item<float16, float16, 1, LayoutRight>>("16-bit parameters", 9, 900);
}

TEST_CASE("random groups of complex parameters, clipped by a norm, equal the full batch") {
  compare<recipe<per_sample, every, keep_last, clip_by_global_norm, momentum>,
          item<complex_float, complex_float, 1, LayoutStride>, item<complex_double, complex_float, 2, LayoutRight>>(
      "complex parameters", 10, 900);
}

TEST_CASE("random groups of narrow gradients, summed in double, equal the full batch") {
  compare<recipe<per_token, at_least<tokens>, carry_last, widened<double>, clip_by_global_norm, sgd>,
          item<float, float, 1, LayoutStride>, item<bfloat16, bfloat16, 2, LayoutRight>>("sums in double", 11, 900);
}

TEST_CASE("random groups of real and complex parameters, clipped by value, equal the full batch") {
  compare<recipe<per_microbatch, every, pad_last, clip_by_value, momentum>,
          item<complex_float, complex_float, 0, LayoutLeft>, item<float, float, 1, LayoutRight>>(
      "real and complex parameters", 12, 900);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The summations that carry more than the sums, on every layout.
#include "driver.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>

using namespace accrue;
using Kokkos::LayoutLeft;
using Kokkos::LayoutRight;
using Kokkos::LayoutStride;
using randomized::compare;
using randomized::item;

TEST_CASE("random groups of real weights, compensated, equal the full batch") {
  compare<recipe<weighted, every, keep_last, on_microbatch<clip_by_value>, compensated, sgd>,
          item<float, bfloat16, 2, LayoutStride>, item<Kokkos::complex<float>, Kokkos::complex<float>, 1, LayoutLeft>>(
      "compensated", 21, 200);
}

TEST_CASE("random groups of tokens, in any order, equal the full batch") {
  compare<recipe<per_token, every, drop_last, clip_by_global_norm, order_independent, sgd>,
          item<float, float, 3, LayoutStride>, item<double, double, 1, LayoutRight>>("order independent", 22, 200);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver.hpp"

using namespace accrue;
using Kokkos::LayoutLeft;
using Kokkos::LayoutRight;
using Kokkos::LayoutStride;
using randomized::compare;
using randomized::item;

TEST_CASE("random groups of samples equal the full batch") {
  compare<recipe<per_sample, every, keep_last, sgd>, item<double, double, 0, LayoutRight>,
          item<double, double, 2, LayoutLeft, LayoutRight>>("samples", 1, 900);
}

TEST_CASE("random groups of tokens, padded at the end and clipped by a norm, equal the full batch") {
  compare<recipe<per_token, every, pad_last, clip_by_global_norm, momentum>, item<double, double, 1, LayoutStride>,
          item<double, double, 3, LayoutRight>>("tokens", 2, 900);
}

TEST_CASE("random groups of equal microbatches, clipped by value, equal the full batch") {
  compare<recipe<per_microbatch, every, drop_last, clip_by_value, sgd>, item<float, float, 1, LayoutRight, LayoutLeft>,
          item<float, float, 4, LayoutStride>>("equal microbatches", 3, 900);
}

TEST_CASE("random groups of real weights, in two precisions, equal the full batch") {
  compare<recipe<weighted, every, carry_last, clip_by_global_norm, momentum>, item<float, float, 2, LayoutLeft>,
          item<double, float, 1, LayoutRight>>("real weights", 4, 900);
}

TEST_CASE("random groups of at least so many tokens equal the full batch of a sum") {
  compare<recipe<per_token, sum_objective, at_least<tokens>, keep_last, clip_by_global_norm, momentum>,
          item<double, double, 2, LayoutStride>>("a sum over tokens", 5, 900);
}

TEST_CASE("random groups of a weighted sum, each microbatch clipped, equal the sum of clipped ones") {
  compare<recipe<weighted, sum_objective, every, drop_last, on_microbatch<clip_by_global_norm>, sgd>,
          item<double, double, 1, LayoutRight>>("a weighted sum, clipped", 6, 900);
}

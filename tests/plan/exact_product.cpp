// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/exact_product.hpp>

#include <accrue/core/units.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <ostream>

namespace plan = accrue::plan;
using accrue::samples;
using plan::exact_product;

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

// [snippet exact_product]
static_assert(exact_product<samples>({3, 5, 7}) == samples{105});
static_assert(exact_product<samples>({1'000'000'000, 10'000'000'000}) == plan::refusal::too_large);
// [/snippet exact_product]

static_assert(exact_product<samples>({}) == samples{1});
static_assert(exact_product<samples>({0}) == samples{0});
static_assert(exact_product<samples>({0, most, most}) == samples{0});
static_assert(exact_product<samples>({most, 0}) == samples{0});
static_assert(exact_product<samples>({most, 2, 0}) == plan::refusal::too_large);
static_assert(noexcept(exact_product<samples>({1})));

}  // namespace

TEST_CASE("exact product: the largest number fits, one more does not") {
  CHECK(exact_product<samples>({most}) == samples{most});
  CHECK(exact_product<samples>({1, most}) == samples{most});
  CHECK(exact_product<samples>({most / 7, 7}) == samples{most});  // 2^63 - 1 is a multiple of 7
  CHECK(exact_product<samples>({most / 7 + 1, 7}) == plan::refusal::too_large);
  CHECK(exact_product<samples>({std::int64_t{1} << 32, std::int64_t{1} << 31}) == plan::refusal::too_large);
}

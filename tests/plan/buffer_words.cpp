// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/buffer_words.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <ostream>

namespace plan = accrue::plan;
using plan::buffer_bytes;
using plan::buffer_words;
using plan::division;
using plan::refusal;
using plan::summation;

namespace {

// [snippet buffer_words]
static_assert(buffer_words(3, division::late).value() == 3);  // sums of its own for each term of the loss
static_assert(buffer_words(3, division::early).value() == 1);
static_assert(buffer_bytes(7'000'000'000, 2).value() == 56'000'000'000);  // floats, late division
static_assert(buffer_bytes(7'000'000'000, 2, division::early).value() == 28'000'000'000);
static_assert(buffer_bytes(1'000, 1, division::late, summation::compensated).value() == 8'000);
static_assert(buffer_words(2, division::running) == refusal::terms_not_combined);
// [/snippet buffer_words]

using enum plan::buffer_scalar;
static_assert(buffer_bytes(10, 1, division::running) == std::int64_t{40});
static_assert(buffer_bytes(10, 1, division::late, summation::widened, in_double) == std::int64_t{80});
static_assert(buffer_bytes(10, 1, division::late, summation::compensated, in_double) == std::int64_t{160});
static_assert(buffer_bytes(10, 1, division::late, summation::order_independent) == std::int64_t{200});
static_assert(buffer_bytes(10, 4, division::early, summation::order_independent, in_double) == std::int64_t{320});
static_assert(buffer_bytes(10, 2, division::late, summation::compensated) == refusal::terms_not_combined);
static_assert(buffer_bytes(10, 0) == refusal::no_terms);
static_assert(buffer_bytes(std::numeric_limits<std::int64_t>::max() / 3) == refusal::too_large);
static_assert(buffer_bytes(0) == std::int64_t{0});
static_assert(noexcept(buffer_bytes(10)));

}  // namespace

TEST_CASE("buffer_words: a refusal throws where the value is taken") {
  CHECK_THROWS_AS(static_cast<void>(buffer_words(0, division::late).value()), accrue::error);
}

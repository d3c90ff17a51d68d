// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/largest_divisor.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <ostream>

using accrue::plan::largest_divisor;

namespace {

// [snippet largest_divisor]
static_assert(largest_divisor(360, 50) == 45);
static_assert(largest_divisor(360, 360) == 360);
static_assert(largest_divisor(9'999'991, 1'000'000) == 1);  // a prime
// [/snippet largest_divisor]

// Counts down, and knows no square root.
constexpr std::int64_t by_counting_down(std::int64_t whole, std::int64_t size) {
  while (size > whole || whole % size != 0) --size;
  return size;
}

constexpr bool agree(std::int64_t up_to) {
  for (std::int64_t whole = 1; whole <= up_to; ++whole)
    for (std::int64_t at_most = 1; at_most <= whole + 1; ++at_most)
      if (largest_divisor(whole, at_most) != by_counting_down(whole, at_most)) return false;
  return true;
}
static_assert(agree(40));

}  // namespace

TEST_CASE("plan: the largest divisor is the one that counting down finds") {
  CHECK(agree(600));
  CHECK(largest_divisor(9'223'372'036'854'775'807, 9'223'372'036'854'775'806) ==
        1'317'624'576'693'539'401);  // a seventh
}

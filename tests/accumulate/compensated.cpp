// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kept.hpp"

#include <accrue/accumulate/compensated.hpp>

#include <doctest/doctest.h>
#include <cmath>
#include <cstdint>
#include <random>

TEST_CASE("compensated: a sum of floats comes out as if it were summed in 48 bits") {
  std::mt19937_64 engine(6);
  std::uniform_int_distribution<std::int64_t> number(-(1 << 23), 1 << 23);
  for (int cancelling : {0, 1}) {
    std::int64_t exact = 0;
    kept<accrue::compensated_sum<float>> all;
    float plain = 0.0f;
    for (int n = 0; n < 100'000; ++n) {
      std::int64_t const x = cancelling == 1 ? number(engine) : std::abs(number(engine));
      exact += x;
      plain += static_cast<float>(x);
      all.add(static_cast<double>(x));
    }
    CHECK(all.value() == static_cast<double>(static_cast<float>(exact)));
    CHECK(plain != static_cast<float>(exact));
  }
}

TEST_CASE("compensated: a sum of doubles keeps what a double would lose") {
  kept<accrue::compensated_sum<double>> all;
  for (double x : {1e24, 1.0, 0x1p-30, -1e24}) all.add(x);
  CHECK(all.value() == 1.0 + 0x1p-30);
  kept<accrue::compensated_sum<double>> tenths, other;
  for (int n = 0; n < 50'000; ++n) tenths.add(0.1), other.add(0.1);
  tenths.merge(other);
  CHECK(tenths.value() == static_cast<double>(100'000 * static_cast<long double>(0.1)));
}

TEST_CASE_TEMPLATE("compensated: what is not finite stays so", Carry, accrue::compensated_sum<float>,
                   accrue::compensated_sum<double>) {
  for (double const& bad : {not_a_number, infinite, -infinite}) {
    kept<Carry> all;
    for (double const& x : {1.0, bad, 2.0}) all.add(x);
    CHECK(all.spoiled());
  }
}

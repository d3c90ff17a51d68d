// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rounding up or down: how often, and by which bits.
#include <accrue/core/random_rounding.hpp>

#include "support/host.hpp"

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

using accrue::bfloat16;
using accrue::float16;
using accrue::narrow_at_random;
using accrue::random_stream;

namespace {

template <class T>
constexpr std::uint16_t infinity = accrue::detail::infinity_bits<std::uint16_t, typename T::format_type>;

/// The bits of the largest finite number, and of those before it.
template <class T>
constexpr std::uint16_t below(int count) {
  return static_cast<std::uint16_t>(infinity<T> - count);
}
constexpr std::array<std::uint16_t, 5> bits_to_try{0, 1, 0x7fff, 0x8000, 0xffff};

}  // namespace

TEST_CASE_TEMPLATE("random rounding: the chance to go up is the distance from below", T, float16, bfloat16) {
  for (std::uint16_t bits = 0; bits < infinity<T> - 1;
       bits = static_cast<std::uint16_t>(bits + (bits < 40 ? 1 : 211))) {
    double const below = T::from_bits(bits), above = T::from_bits(static_cast<std::uint16_t>(bits + 1));
    for (int k : {1, 5, 16, 32, 63}) {
      auto const between = static_cast<float>(below + (above - below) * k / 64.0);  // exact in float
      for (float const x : {between, -between}) {
        int away = 0;
        for (int random = 0; random < 0x10000; random += 64) {
          T const rounded = narrow_at_random<T>(x, static_cast<std::uint16_t>(random));
          bool const up = std::abs(double(rounded)) == above;
          REQUIRE((up || std::abs(double(rounded)) == below));
          REQUIRE(std::signbit(float(rounded)) == std::signbit(x));
          away += up ? 1 : 0;
        }
        REQUIRE(away == 16 * k);
      }
    }
  }
}

TEST_CASE_TEMPLATE("random rounding: numbers of 16 bits stay, whatever the bits", T, float16, bfloat16) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto const x = T::from_bits(static_cast<std::uint16_t>(bits));
    if (!accrue::is_finite(x)) continue;
    for (std::uint16_t const random : bits_to_try) REQUIRE(narrow_at_random<T>(float(x), random).bits() == bits);
  }
}

TEST_CASE_TEMPLATE("random rounding: what is out of range goes to the nearest", T, float16, bfloat16) {
  float const largest = T::from_bits(below<T>(1)), before = T::from_bits(below<T>(2));
  float const infinite = std::numeric_limits<float>::infinity();
  auto const same = [](float x) {
    for (std::uint16_t const random : bits_to_try) {
      CHECK(narrow_at_random<T>(x, random).bits() == T(x).bits());
      CHECK(narrow_at_random<T>(-x, random).bits() == T(-x).bits());
    }
  };
  same(infinite);
  same(std::numeric_limits<float>::quiet_NaN());
  same(accrue::detail::bits_as<float>(0x7f800001u));
  same(std::nextafter(largest, infinite));
  same(std::nextafter(largest + (largest - before) / 2, 0.0f));
  same(largest + (largest - before) / 2);
  CHECK(float(narrow_at_random<T>(std::nextafter(largest, 0.0f), 0xffff)) == largest);
  CHECK(float(narrow_at_random<T>(std::nextafter(largest, 0.0f), 0)) == before);
}

TEST_CASE("random rounding: what is far below the smallest half is zero but for its share") {
  auto const ups = [](float x) {
    int count = 0;
    for (int random = 0; random < 0x10000; ++random)
      count += narrow_at_random<float16>(x, static_cast<std::uint16_t>(random)).bits() & 0x7fff;
    return count;
  };
  CHECK(ups(0x1p-25f) == 0x8000);
  CHECK(ups(-0x1p-32f) == 0x100);
  CHECK(ups(0x1p-40f) == 1);
  CHECK(ups(0x1.fffffep-41f) == 0);
  CHECK(ups(0x1p-140f) == 0);
  CHECK(ups(0.0f) == 0);
}

TEST_CASE("random rounding: a constant expression, and the same in a kernel") {
  static_assert(narrow_at_random<bfloat16>(1.0f + 0x1p-9f, 0xbfff).bits() == 0x3f80);
  static_assert(narrow_at_random<bfloat16>(1.0f + 0x1p-9f, 0xc000).bits() == 0x3f81);
  constexpr int n = 1000;
  Kokkos::View<bfloat16*> const found("found", n);
  Kokkos::parallel_for(
      "round", n, KOKKOS_LAMBDA(int i) {
        found(i) = narrow_at_random<bfloat16>(1.0f + static_cast<float>(i) * 0x1p-16f, random_stream(3, 5)(i));
      });
  auto const values = support::values(found);
  random_stream const random(3, 5);
  for (int i = 0; i < n; ++i)
    CHECK(values[static_cast<std::size_t>(i)] ==
          float(narrow_at_random<bfloat16>(1.0f + static_cast<float>(i) * 0x1p-16f, random(i))));
}

TEST_CASE("random rounding: the numbers are those of SplitMix64") {
  std::uint64_t state = 0;
  auto const next = [&state] {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  };
  state = 1234567;
  CHECK(next() == 6457827717110365317u);  // published for this seed
  state = 7;                              // the view
  state = next() + 2;                     // the update
  state = next();
  random_stream const random(7, 2);
  for (std::int64_t n = 0; n < 100; ++n) {
    std::uint64_t const four = next();
    CHECK(random.four(n) == four);
    for (int k = 0; k < 4; ++k) CHECK(random(4 * n + k) == (four >> (16 * k) & 0xffff));
  }
}

TEST_CASE("random rounding: views, updates and elements have numbers of their own, evenly spread") {
  std::set<std::uint64_t> seen;
  for (std::int64_t view = 0; view < 40; ++view)
    for (std::int64_t update = 1; update < 40; ++update)
      for (std::int64_t n = 0; n < 4; ++n) seen.insert(random_stream(view, update).four(n));
  CHECK(seen.size() == 40 * 39 * 4);
  std::vector<int> counts(64);
  random_stream const random(0, 1);
  constexpr int n = 1 << 16;
  double product = 0.0;  // of neighbours
  for (std::int64_t i = 0; i < n; ++i) {
    ++counts[random(i) / 1024];
    product += (random(i) - 32767.5) * (random(i + 1) - 32767.5);
  }
  double chi_square = 0.0;
  for (int const count : counts) chi_square += (count - n / 64.0) * (count - n / 64.0) / (n / 64.0);
  CHECK(chi_square < 110.0);  // 63 degrees of freedom: less in 99.98 % of all sequences
  double const variance = 65536.0 * 65536.0 / 12.0;
  CHECK(std::abs(product / (n * variance)) < 4.0 / 256.0);
}

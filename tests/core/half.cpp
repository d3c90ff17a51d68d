// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/core/half.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>
#include <type_traits>
#include <utility>
#include <vector>

// Every member is instantiated once.
template class accrue::float_storage<accrue::format::binary16>;
template class accrue::float_storage<accrue::format::brain16>;

namespace {

using accrue::bfloat16;
using accrue::float16;

// All non-negative numbers of a format in ascending order, made from the definition of the format; the last one is what
// would follow the greatest if the exponent went on, and stands for infinity. The index of a number is its bit pattern.
template <class T>
std::vector<double> const& numbers() {
  static std::vector<double> const all = [] {
    constexpr int fraction_bits = T::format_type::fraction_bits;
    constexpr int exponents = 1 << T::format_type::exponent_bits;
    std::vector<double> values;
    for (int exponent = 0; exponent != exponents; ++exponent)
      for (int fraction = 0; fraction != 1 << fraction_bits; ++fraction) {
        int const significand = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
        int const power = std::max(exponent, 1) - (exponents / 2 - 1) - fraction_bits;
        values.push_back(std::ldexp(significand, power));
        if (exponent == exponents - 1) return values;
      }
    return values;
  }();
  return all;
}

// The nearest number, ties to the even pattern, by search; the midpoints are exact in double.
template <class T>
std::uint16_t nearest(double x) {
  std::vector<double> const& all = numbers<T>();
  double const size = std::fabs(x);
  std::size_t index = all.size() - 1;
  if (size < all.back()) {
    index = static_cast<std::size_t>(std::upper_bound(all.begin(), all.end(), size) - all.begin()) - 1;
    double const middle = 0.5 * (all[index] + all[index + 1]);
    if (size > middle || (size == middle && index % 2 == 1)) ++index;
  }
  return static_cast<std::uint16_t>(index | (std::signbit(x) ? 0x8000u : 0u));
}

constexpr bool nan_bits(float16 x) { return (x.bits() & 0x7fff) > 0x7c00; }
constexpr bool nan_bits(bfloat16 x) { return (x.bits() & 0x7fff) > 0x7f80; }
template <class T>
constexpr std::uint16_t quiet_bit = 1u << (T::format_type::fraction_bits - 1);

template <class To, class From>
To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// The same numbers in a kernel: every pattern widened and narrowed again, and a double narrowed for every pattern.
template <class T>
struct convert_in_a_kernel {
  Kokkos::View<float*> wide;
  Kokkos::View<T*> narrow;

  KOKKOS_FUNCTION static double some_double(int i) { return (i - 32768) * 0.001220703125001; }
  KOKKOS_FUNCTION void operator()(int i) const {
    wide(i) = T::from_bits(static_cast<std::uint16_t>(i));
    narrow(i) = T(some_double(i));
  }
};

// Settled at compile time, so constexpr is more than a word.
static_assert(sizeof(float16) == 2 && std::is_trivially_copyable_v<float16>);
static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<bfloat16>);
static_assert(float16(1.0f).bits() == 0x3c00 && bfloat16(1.0f).bits() == 0x3f80);
static_assert(float16(0.01).bits() == 0x211f && float16(0.01) == 0.01000213623046875f);
static_assert(float16(65519.99).bits() == 0x7bff && float16(65520.0).bits() == 0x7c00);
static_assert(float16::from_bits(1) == 0x1p-24f && bfloat16::from_bits(1) == 0x1p-133f);
static_assert((-bfloat16(0.0f)).bits() == 0x8000);

// What converts by itself and what does not.
static_assert(std::is_convertible_v<float16, float> && std::is_convertible_v<bfloat16, float>);
static_assert(!std::is_convertible_v<float, float16> && !std::is_convertible_v<double, bfloat16>);
static_assert(!std::is_convertible_v<float16, bfloat16> && std::is_constructible_v<bfloat16, float16>);
static_assert(std::is_same_v<decltype(std::declval<float16>() + std::declval<float16>()), float>);
static_assert(std::is_same_v<decltype(std::declval<bfloat16>() * 2.0), double>);
static_assert(std::is_same_v<decltype(-std::declval<float16>()), float16>);

}  // namespace

TEST_CASE_TEMPLATE("every bit pattern survives widening and narrowing", T, float16, bfloat16) {
  int changed = 0;
  for (std::uint32_t pattern = 0; pattern <= 0xffff; ++pattern) {
    T const x = T::from_bits(static_cast<std::uint16_t>(pattern));
    std::uint32_t const expected = nan_bits(x) ? pattern | quiet_bit<T> : pattern;  // a signaling NaN becomes quiet
    changed += T(static_cast<float>(x)).bits() != expected;
    changed += T(static_cast<double>(x)).bits() != expected;
  }
  CHECK(changed == 0);
}

TEST_CASE_TEMPLATE("widening is exact", T, float16, bfloat16) {
  std::vector<double> const& all = numbers<T>();
  int wrong = 0;
  for (std::size_t pattern = 0; pattern + 1 < all.size(); ++pattern) {
    float const x = T::from_bits(static_cast<std::uint16_t>(pattern));
    float const negative = T::from_bits(static_cast<std::uint16_t>(pattern | 0x8000u));
    wrong += static_cast<double>(x) != all[pattern] || std::signbit(x);
    wrong += static_cast<double>(negative) != -all[pattern] || !std::signbit(negative);
  }
  CHECK(wrong == 0);
  CHECK(std::isinf(static_cast<float>(T::from_bits(static_cast<std::uint16_t>(all.size() - 1)))));
}

TEST_CASE_TEMPLATE("a midpoint goes to the even neighbour, its own neighbours to theirs", T, float16, bfloat16) {
  std::vector<double> const& all = numbers<T>();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  int wrong = 0;
  for (std::size_t lower = 0; lower + 1 < all.size(); ++lower) {
    double const middle = 0.5 * (all[lower] + all[lower + 1]);
    std::size_t const even = lower + lower % 2;
    // A double one ulp beside the midpoint is the midpoint as a float: narrowing by way of float would go wrong here.
    wrong += T(middle).bits() != even;
    wrong += T(std::nextafter(middle, 0.0)).bits() != lower;
    wrong += T(std::nextafter(middle, infinity)).bits() != lower + 1;
    wrong += T(-middle).bits() != (even | 0x8000u);

    float const float_middle = static_cast<float>(middle);
    wrong += static_cast<double>(float_middle) != middle;
    wrong += T(float_middle).bits() != even;
    wrong += T(std::nextafter(float_middle, 0.0f)).bits() != lower;
    wrong += T(std::nextafter(float_middle, std::numeric_limits<float>::infinity())).bits() != lower + 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("a million floats and doubles go to the nearest number", T, float16, bfloat16) {
  std::mt19937_64 random(20240229);
  constexpr int bias = (1 << (T::format_type::exponent_bits - 1)) - 1;
  // From far below the smallest subnormal number to above the greatest one.
  std::uniform_int_distribution<int> power(-bias - T::format_type::fraction_bits - 3, bias + 2);
  int wrong = 0;
  for (int i = 0; i != 1'000'000; ++i) {
    double const significand = 1.0 + static_cast<double>(random() >> 12) * 0x1p-52;
    double const x = std::ldexp(i % 2 == 0 ? significand : -significand, power(random));
    float const f = static_cast<float>(x);
    wrong += T(x).bits() != nearest<T>(x);
    wrong += T(f).bits() != nearest<T>(static_cast<double>(f));
  }
  CHECK(wrong == 0);

  // Any bit pattern of a float at all.
  for (int i = 0; i != 1'000'000; ++i) {
    float const f = same_bits<float>(static_cast<std::uint32_t>(random()));
    wrong += std::isnan(f) ? !nan_bits(T(f)) : T(f).bits() != nearest<T>(static_cast<double>(f));
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("infinity, zero and what is far out of range keep their sign", T, float16, bfloat16) {
  std::size_t const infinity = numbers<T>().size() - 1;
  CHECK(T(std::numeric_limits<double>::infinity()).bits() == infinity);
  CHECK(T(-std::numeric_limits<float>::infinity()).bits() == (infinity | 0x8000u));
  CHECK(T(std::numeric_limits<double>::max()).bits() == infinity);
  CHECK(T(-std::numeric_limits<double>::max()).bits() == (infinity | 0x8000u));
  CHECK(T(std::numeric_limits<double>::denorm_min()).bits() == 0);
  CHECK(T(-std::numeric_limits<double>::denorm_min()).bits() == 0x8000u);
  CHECK(T(std::numeric_limits<double>::min()).bits() == 0);
  CHECK(T(0.0f).bits() == 0);
  CHECK(T(-0.0f).bits() == 0x8000u);
  CHECK(T(-0.0).bits() == 0x8000u);
}

TEST_CASE_TEMPLATE("NaN stays NaN, quiet, with its sign and the upper bits of its payload", T, float16, bfloat16) {
  constexpr int fraction_bits = T::format_type::fraction_bits;
  std::uint32_t const payload = 0x2a & (quiet_bit<T> - 1u);
  for (std::uint32_t sign : {0u, 0x8000u})
    for (std::uint32_t quiet : {0u, 1u << 22}) {
      std::uint32_t const bits = sign << 16 | 0x7f800000u | quiet | payload << (23 - fraction_bits) | 1u;
      std::uint64_t const wide =
          std::uint64_t(sign) << 48 | 0x7ff0000000000000u | std::uint64_t(payload) << (52 - fraction_bits) | 1u;
      std::size_t const expected = sign | (numbers<T>().size() - 1) | quiet_bit<T> | payload;
      CHECK(T(same_bits<float>(bits)).bits() == expected);
      CHECK(T(same_bits<double>(wide)).bits() == expected);
    }
  // A payload in the lower bits only must not turn into infinity.
  CHECK(nan_bits(T(same_bits<float>(0x7f800001u))));
  CHECK(nan_bits(T(same_bits<double>(std::uint64_t(0x7ff0000000000001u)))));
  CHECK(std::isnan(static_cast<float>(T(std::numeric_limits<float>::quiet_NaN()))));
}

TEST_CASE_TEMPLATE("comparison is that of the numbers, not of the bits", T, float16, bfloat16) {
  CHECK(T(0.0f) == T(-0.0f));
  CHECK(T(-2.0f) < T(1.0f));
  CHECK(T(3.0f) == 3.0f);
  CHECK(T(3.0f) == 3.0);
  CHECK(T(3) == 3);
  CHECK(T(3) != T(4.0));
  T const nan(std::numeric_limits<float>::quiet_NaN());
  CHECK_FALSE(nan == nan);
  CHECK_FALSE(nan < T(1));
}

TEST_CASE_TEMPLATE("minus flips the sign of every pattern", T, float16, bfloat16) {
  int wrong = 0;
  for (std::uint32_t pattern = 0; pattern <= 0xffff; ++pattern)
    wrong += (-T::from_bits(static_cast<std::uint16_t>(pattern))).bits() != (pattern ^ 0x8000u);
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("a 16-bit number prints as a float", T, float16, bfloat16) {
  std::ostringstream out;
  out << T(0.5) << ' ' << T(-3);
  CHECK(out.str() == "0.5 -3");
}

TEST_CASE("a sum is formed in float, and stored again in writing") {
  // [half]
  accrue::bfloat16 const one(1.0f), small(0.00390625);  // 2^-8; widening is exact
  float const sum = one + small;                        // float arithmetic: nothing is lost
  accrue::bfloat16 const stored(sum);                   // explicit; nearest, ties to even
  // [/half]
  CHECK(sum == 1.00390625f);
  CHECK(stored == 1.0f);
}

TEST_CASE_TEMPLATE("a kernel gets the bits that the host gets", T, float16, bfloat16) {
  constexpr int patterns = 1 << 16;
  convert_in_a_kernel<T> const convert{Kokkos::View<float*>("wide", patterns), Kokkos::View<T*>("narrow", patterns)};
  Kokkos::parallel_for("convert", patterns, convert);
  auto const wide = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, convert.wide);
  auto const narrow = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, convert.narrow);

  int different = 0;
  for (int i = 0; i != patterns; ++i) {
    float const expected = T::from_bits(static_cast<std::uint16_t>(i));
    different += same_bits<std::uint32_t>(wide(i)) != same_bits<std::uint32_t>(expected);
    different += narrow(i).bits() != T(convert.some_double(i)).bits();
  }
  CHECK(different == 0);
}

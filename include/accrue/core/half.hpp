// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_HALF_HPP
#define ACCRUE_CORE_HALF_HPP

#include <Kokkos_Macros.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace accrue {

namespace format {
/// IEEE binary16: 5 exponent bits, 10 fraction bits; at most 65504.
struct binary16 {
  static constexpr int exponent_bits = 5;
  static constexpr int fraction_bits = 10;
};
/// The upper half of a float: 8 exponent bits, 7 fraction bits.
struct brain16 {
  static constexpr int exponent_bits = 8;
  static constexpr int fraction_bits = 7;
};
/// IEEE binary32, `float`.
struct binary32 {
  static constexpr int exponent_bits = 8;
  static constexpr int fraction_bits = 23;
};
/// IEEE binary64, `double`.
struct binary64 {
  static constexpr int exponent_bits = 11;
  static constexpr int fraction_bits = 52;
};
}  // namespace format

namespace detail {

// Neither std::bit_cast (no device function) nor Kokkos::bit_cast (not constexpr) serves both sides.
template <class To, class From>
KOKKOS_FUNCTION constexpr To bits_as(From const& from) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

KOKKOS_FUNCTION constexpr std::uint32_t bits_of(float const& value) noexcept { return bits_as<std::uint32_t>(value); }
KOKKOS_FUNCTION constexpr std::uint64_t bits_of(double const& value) noexcept { return bits_as<std::uint64_t>(value); }

template <class Format>
inline constexpr int exponent_bias = (1 << (Format::exponent_bits - 1)) - 1;
template <class Bits, class Format>
inline constexpr Bits infinity_bits = ((Bits(1) << Format::exponent_bits) - Bits(1)) << Format::fraction_bits;

/// `significand` without its lowest `lost` bits, rounded to the nearest, ties to even. Needs lost >= 1.
template <std::unsigned_integral Bits>
KOKKOS_FUNCTION constexpr Bits rounded_shift(Bits significand, int lost) noexcept {
  Bits const even = (significand >> lost) & Bits(1);
  return (significand + ((Bits(1) << (lost - 1)) - Bits(1)) + even) >> lost;
}

/// The nearest 16-bit number, ties to even, in one rounding. Integer arithmetic, and selections instead of branches.
template <class Wide, class Narrow, std::unsigned_integral Bits>
KOKKOS_FUNCTION constexpr std::uint16_t narrowed(Bits wide) noexcept {
  constexpr int rebias = exponent_bias<Wide> - exponent_bias<Narrow>;
  constexpr int shift = Wide::fraction_bits - Narrow::fraction_bits;
  constexpr int top = 8 * sizeof(Bits) - 16;  // where the upper 16 bits begin
  constexpr Bits one = 1;
  constexpr Bits implicit_bit = one << Wide::fraction_bits;
  constexpr Bits wide_infinity = infinity_bits<Bits, Wide>;
  constexpr Bits infinity = infinity_bits<Bits, Narrow>;
  constexpr Bits overflow = (Bits(1 << Narrow::exponent_bits) - one + Bits(rebias)) << Wide::fraction_bits;
  constexpr Bits smallest_normal = Bits(rebias + 1) << Wide::fraction_bits;
  constexpr Bits quiet = one << (Narrow::fraction_bits - 1);

  Bits const sign = (wide >> top) & Bits(0x8000);
  Bits const magnitude = wide & (~Bits(0) >> 1);
  Bits const fraction = magnitude & (implicit_bit - one);

  // Exponent and fraction are rounded as one number: a carry raises the exponent, at the end to infinity.
  Bits result = rounded_shift(magnitude - (Bits(rebias) << Wide::fraction_bits), shift);
  if constexpr (rebias != 0) {
    // Below the normal range the implicit bit is written out, and more bits are lost. From fraction_bits + 2 on nothing
    // is left that could round up; so it is for the subnormal numbers of the wide type.
    int const below = rebias + 1 - int(magnitude >> Wide::fraction_bits);
    int const lost =
        below < 0 ? shift : (shift + below > Wide::fraction_bits + 2 ? Wide::fraction_bits + 2 : shift + below);
    Bits const subnormal = rounded_shift(fraction | implicit_bit, lost);
    result = magnitude < smallest_normal ? subnormal : result;
  }
  result = magnitude >= overflow ? infinity : result;
  result = magnitude > wide_infinity ? (infinity | quiet | (fraction >> shift)) : result;
  return static_cast<std::uint16_t>(sign | result);
}

/// The same number as a float; every 16-bit number is one.
template <class Narrow>
KOKKOS_FUNCTION constexpr float widened(std::uint16_t narrow) noexcept {
  using wide = format::binary32;
  if constexpr (Narrow::exponent_bits == wide::exponent_bits) {
    return bits_as<float>(std::uint32_t(narrow) << 16);
  } else {
    constexpr int shift = wide::fraction_bits - Narrow::fraction_bits;
    constexpr std::uint32_t rebias = std::uint32_t(exponent_bias<wide> - exponent_bias<Narrow>) << wide::fraction_bits;
    constexpr std::uint32_t smallest_normal = 1u << wide::fraction_bits;
    constexpr std::uint32_t infinity = infinity_bits<std::uint32_t, Narrow> << shift;

    std::uint32_t const sign = std::uint32_t(narrow & 0x8000u) << 16;
    std::uint32_t const magnitude = std::uint32_t(narrow & 0x7fffu) << shift;
    // A subnormal number by an exact subtraction without subnormal floats, so that flushing them to zero does not
    // matter. Masks, for g++ makes branches of selections here and then no vector code.
    std::uint32_t const subnormal = 0u - std::uint32_t(magnitude < smallest_normal);
    std::uint32_t const not_finite = 0u - std::uint32_t(magnitude >= infinity);
    float const offset = bits_as<float>(subnormal & (smallest_normal + rebias));
    float const value = bits_as<float>(magnitude + rebias + (subnormal & smallest_normal)) - offset;

    std::uint32_t const result = bits_of(value) | (not_finite & infinity_bits<std::uint32_t, wide>);
    return bits_as<float>(sign | result);
  }
}

}  // namespace detail

/// A floating-point number stored in two bytes, `float16` or `bfloat16`: a storage type, the same on host and device.
///
/// It becomes a `float` by itself, so comparison, arithmetic and printing are those of `float`; the way back is always
/// written out, and nothing is ever summed in 16 bits.
/// Guarantee: widening is exact; narrowing goes to the nearest number, ties to the even one, subnormal numbers and
/// infinity included, in one rounding from `double` too. NaN stays NaN, is quiet, and keeps its sign and upper bits.
/// Example: `accrue::bfloat16 const x(0.1);  float y = x + x;`
template <class Format>
class float_storage {
 public:
  using format_type = Format;

  float_storage() = default;

  KOKKOS_FUNCTION constexpr explicit float_storage(float const& value) noexcept
      : bits_(detail::narrowed<format::binary32, Format>(detail::bits_of(value))) {}
  KOKKOS_FUNCTION constexpr explicit float_storage(double const& value) noexcept
      : bits_(detail::narrowed<format::binary64, Format>(detail::bits_of(value))) {}
  /// An integer becomes a `double` first, which is exact up to 2^53.
  template <std::integral Integer>
  KOKKOS_FUNCTION constexpr explicit float_storage(Integer value) noexcept
      : float_storage(static_cast<double>(value)) {}

  [[nodiscard]] KOKKOS_FUNCTION static constexpr float_storage from_bits(std::uint16_t bits) noexcept {
    float_storage result{};
    result.bits_ = bits;
    return result;
  }
  [[nodiscard]] KOKKOS_FUNCTION constexpr std::uint16_t bits() const noexcept { return bits_; }

  KOKKOS_FUNCTION constexpr operator float() const noexcept { return detail::widened<Format>(bits_); }

  /// Flips the sign, also that of zero and NaN.
  [[nodiscard]] KOKKOS_FUNCTION constexpr float_storage operator-() const noexcept {
    return from_bits(static_cast<std::uint16_t>(bits_ ^ 0x8000u));
  }

 private:
  std::uint16_t bits_;
};

using float16 = float_storage<format::binary16>;  ///< IEEE half precision
using bfloat16 = float_storage<format::brain16>;  ///< the range of `float`, 8 significant bits

static_assert(sizeof(float16) == 2 && std::is_trivially_copyable_v<float16>);
static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<bfloat16>);
static_assert(std::is_trivially_default_constructible_v<float16> && std::is_standard_layout_v<float16>);

}  // namespace accrue
#endif

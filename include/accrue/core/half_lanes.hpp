// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_HALF_LANES_HPP
#define ACCRUE_CORE_HALF_LANES_HPP

#include <accrue/core/half.hpp>
#include <accrue/core/lanes.hpp>

#include <cstdint>

#if ACCRUE_HAS_LANES

namespace accrue::detail {

typedef std::uint32_t words __attribute__((vector_size(register_bytes)));
typedef std::uint16_t half8 __attribute__((vector_size(16)));

/// 16-bit numbers, each in the lower half of a word, as floats; the bits that `widened` gives one by one.
template <class Format>
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline floats widened_words(words narrow) {
  if constexpr (Format::exponent_bits == format::binary32::exponent_bits) {
    return reinterpret_cast<floats>(narrow << 16);
  } else {
    constexpr int shift = format::binary32::fraction_bits - Format::fraction_bits;
    constexpr std::uint32_t infinity = infinity_bits<std::uint32_t, Format> << shift;
    constexpr std::uint32_t rebias = std::uint32_t(exponent_bias<format::binary32> - exponent_bias<Format>)
                                     << format::binary32::fraction_bits;
    constexpr std::uint32_t smallest_normal = 1u << format::binary32::fraction_bits;
    words const magnitude = (narrow & 0x7fffu) << shift;
    words const subnormal = reinterpret_cast<words>(magnitude < smallest_normal);
    words const not_finite = reinterpret_cast<words>(magnitude >= infinity);
    floats const offset = reinterpret_cast<floats>(subnormal & (smallest_normal + rebias));
    floats const value = reinterpret_cast<floats>(magnitude + rebias + (subnormal & smallest_normal)) - offset;
    words const bits = reinterpret_cast<words>(value) | (not_finite & infinity_bits<std::uint32_t, format::binary32>);
    return reinterpret_cast<floats>(bits | ((narrow & 0x8000u) << 16));
  }
}

/// Floats as 16-bit numbers, each in the lower half of a word; the bits that `narrowed` gives one by one.
template <class Format>
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline words narrowed_words(floats wide) {
  constexpr int shift = format::binary32::fraction_bits - Format::fraction_bits;
  constexpr int rebias = exponent_bias<format::binary32> - exponent_bias<Format>;
  constexpr std::uint32_t infinity = infinity_bits<std::uint32_t, Format>;
  constexpr std::uint32_t quiet = 1u << (Format::fraction_bits - 1);
  constexpr std::uint32_t wide_infinity = infinity_bits<std::uint32_t, format::binary32>;
  constexpr std::uint32_t overflow = ((1u << Format::exponent_bits) - 1u + std::uint32_t(rebias))
                                     << format::binary32::fraction_bits;
  words const bits = reinterpret_cast<words>(wide);
  words const magnitude = bits & 0x7fffffffu;
  words const even = (magnitude >> shift) & 1u;
  words result =
      (magnitude - (std::uint32_t(rebias) << format::binary32::fraction_bits) + ((1u << (shift - 1)) - 1u) + even) >>
      shift;
  if constexpr (rebias != 0) {
    // A float whose unit in the last place is that of the subnormal numbers rounds them as it adds them up.
    constexpr std::uint32_t smallest_normal = std::uint32_t(rebias + 1) << format::binary32::fraction_bits;
    constexpr std::uint32_t unit = std::uint32_t(rebias + 1 + shift) << format::binary32::fraction_bits;
    floats const rounded = reinterpret_cast<floats>(magnitude) + bits_as<float>(unit);
    result = magnitude < smallest_normal ? reinterpret_cast<words>(rounded) - unit : result;
  }
  result = magnitude >= overflow ? words{} + infinity : result;
  words const payload = (magnitude & (wide_infinity ^ 0x7fffffffu)) >> shift;
  result = magnitude > wide_infinity ? payload | infinity | quiet : result;
  return result | ((bits >> 16) & 0x8000u);
}

}  // namespace accrue::detail

#endif
#endif

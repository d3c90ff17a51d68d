// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_HALF_LANES_HPP
#define ACCRUE_CORE_HALF_LANES_HPP

#include <accrue/core/half.hpp>
#include <accrue/core/lanes.hpp>
#include <accrue/core/random_rounding.hpp>

#include <cstdint>

#if ACCRUE_HAS_LANES

namespace accrue::detail {

typedef std::uint32_t words __attribute__((vector_size(register_bytes)));
typedef std::uint16_t half8 __attribute__((vector_size(16)));

#if defined(__AVX__)
/// Eight 16-bit numbers, each in the lower half of a word. g++ takes the conversion apart; its builtin does not.
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline words in_words(half8 narrow) {
#if defined(__AVX2__) && !defined(__clang__)
  typedef short shorts __attribute__((vector_size(16)));
  return reinterpret_cast<words>(__builtin_ia32_pmovzxwd256(reinterpret_cast<shorts>(narrow)));
#else
  return __builtin_convertvector(narrow, words);
#endif
}
#endif

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

/// Lane by lane: whether bits without a sign are more than `limit`. As signed numbers, which SSE2 can compare.
template <std::uint32_t limit>
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline auto exceeds(words magnitude) {
  typedef std::int32_t integers __attribute__((vector_size(register_bytes)));
  return reinterpret_cast<integers>(magnitude) > integers{} + static_cast<std::int32_t>(limit);
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
  words const even = (bits >> shift) & 1u;
  if constexpr (rebias == 0) {  // rounding alone, which makes infinity of what overflows and leaves infinity
    words const rounded = (bits + ((1u << (shift - 1)) - 1u) + even) >> shift;
    return exceeds<wide_infinity>(magnitude) ? (bits >> shift) | quiet : rounded;
  } else {
    // A float whose unit in the last place is that of the subnormal numbers rounds them as it adds them up.
    constexpr std::uint32_t smallest_normal = std::uint32_t(rebias + 1) << format::binary32::fraction_bits;
    constexpr std::uint32_t unit = std::uint32_t(rebias + 1 + shift) << format::binary32::fraction_bits;
    floats const rounded = reinterpret_cast<floats>(magnitude) + bits_as<float>(unit);
    words result =
        (magnitude - (std::uint32_t(rebias) << format::binary32::fraction_bits) + ((1u << (shift - 1)) - 1u) + even) >>
        shift;
    result = exceeds<smallest_normal - 1u>(magnitude) ? result : reinterpret_cast<words>(rounded) - unit;
    result = exceeds<overflow - 1u>(magnitude) ? words{} + infinity : result;
    words const payload = (magnitude & (wide_infinity ^ 0x7fffffffu)) >> shift;
    result = exceeds<wide_infinity>(magnitude) ? payload | infinity | quiet : result;
    return result | ((bits >> 16) & 0x8000u);
  }
}

/// Floats as 16-bit numbers of their exponent, each rounded up or down by the 16 random bits in a word; the bits that
/// `narrowed_at_random` gives one by one.
template <class Format>
  requires(Format::exponent_bits == format::binary32::exponent_bits)
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline words narrowed_words_at_random(floats wide, words random) {
  words const bits = reinterpret_cast<words>(wide);
  words const either = (bits + random) >> 16;
  return exceeds<largest_as_float<Format>>(bits & 0x7fffffffu) ? narrowed_words<Format>(wide) : either;
}

/// Eight 16-bit numbers, each in the lower half of a word, and back.
struct half_words {
  words part[wide_registers ? 1 : 2];
};
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline half_words words_of(half8 narrow) {
#if defined(__AVX__)
  return {{in_words(narrow)}};
#else
  half8 const zero{};
  return {{reinterpret_cast<words>(__builtin_shufflevector(narrow, zero, 0, 8, 1, 9, 2, 10, 3, 11)),
           reinterpret_cast<words>(__builtin_shufflevector(narrow, zero, 4, 12, 5, 13, 6, 14, 7, 15))}};
#endif
}
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline half8 halves_of(half_words const& wide) {
#if defined(__AVX__)
  return __builtin_convertvector(wide.part[0], half8);
#else
  auto const low = reinterpret_cast<half8>(wide.part[0]);
  auto const high = reinterpret_cast<half8>(wide.part[1]);
  return __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14);
#endif
}

}  // namespace accrue::detail

#endif
#endif

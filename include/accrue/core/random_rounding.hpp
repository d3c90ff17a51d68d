// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_RANDOM_ROUNDING_HPP
#define ACCRUE_CORE_RANDOM_ROUNDING_HPP

#include <accrue/core/half.hpp>
#include <accrue/core/scalar.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace accrue {

/// Sixteen random bits for each element of a view in one update, from nothing but their numbers: the same on every
/// replica, for any number of threads, and after a restart.
///
/// Source: the sequence of SplitMix64, Steele, Lea and Flood 2014, of which each number serves four elements.
class random_stream {
 public:
  KOKKOS_FUNCTION constexpr random_stream(std::int64_t view, std::int64_t update) noexcept
      : seed_(mixed(mixed(static_cast<std::uint64_t>(view)) + static_cast<std::uint64_t>(update))) {}

  /// The bits of the elements 4 n to 4 n + 3, the first in the lowest place.
  [[nodiscard]] KOKKOS_FUNCTION constexpr std::uint64_t four(std::int64_t n) const noexcept {
    return mixed(seed_ + static_cast<std::uint64_t>(n) * golden_ratio);
  }
  [[nodiscard]] KOKKOS_FUNCTION constexpr std::uint16_t operator()(std::int64_t i) const noexcept {
    return static_cast<std::uint16_t>(four(i / 4) >> (16 * (i % 4)));
  }

 private:
  static constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;
  [[nodiscard]] KOKKOS_FUNCTION static constexpr std::uint64_t mixed(std::uint64_t z) noexcept {
    z += golden_ratio;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::uint64_t seed_;
};

namespace detail {

/// The largest finite 16-bit number, as a float's bits.
template <class Narrow>
inline constexpr std::uint32_t largest_as_float =
    bits_of(widened<Narrow>(static_cast<std::uint16_t>(infinity_bits<std::uint32_t, Narrow> - 1)));

/// One of the two 16-bit numbers around a float, by 16 random bits.
template <class Narrow>
KOKKOS_FUNCTION constexpr std::uint16_t narrowed_at_random(std::uint32_t wide, std::uint16_t random) noexcept {
  using from = format::binary32;
  constexpr int rebias = exponent_bias<from> - exponent_bias<Narrow>;
  constexpr int shift = from::fraction_bits - Narrow::fraction_bits;
  constexpr int most = from::fraction_bits + 1 + 16;  // bits below the last, of which sixteen are zero
  constexpr std::uint32_t implicit_bit = 1u << from::fraction_bits;
  std::uint32_t const magnitude = wide & 0x7fffffffu;
  if (magnitude > largest_as_float<Narrow>) return narrowed<from, Narrow>(wide);

  std::uint64_t significand = magnitude - (std::uint32_t(rebias) << from::fraction_bits);
  int lost = shift;
  int const below = rebias + 1 - int(magnitude >> from::fraction_bits);
  if (rebias != 0 && below > 0) {  // a subnormal number: the implicit bit is written out, and more bits are lost
    bool const none = magnitude < implicit_bit;  // as good as zero
    significand = none ? 0 : (magnitude & (implicit_bit - 1u)) | implicit_bit;
    lost = shift + below > most ? most : shift + below;
  }
  std::uint64_t const added = lost < 16 ? std::uint64_t(random) >> (16 - lost) : std::uint64_t(random) << (lost - 16);
  return static_cast<std::uint16_t>(((wide >> 16) & 0x8000u) | ((significand + added) >> lost));
}

}  // namespace detail

/// One of the two numbers of 16 bits next to `x`, the nearer one more often: its mean over all `random` is `x`.
///
/// Guarantee: within 2^-16 of the distance of the two, and never away from a number that has 16 bits itself. What is
/// beyond the largest number, infinity and NaN are rounded to the nearest. Source: Gupta et al. 2015, section 3.
template <detail::sixteen_bit T>
[[nodiscard]] KOKKOS_FUNCTION constexpr T narrow_at_random(float const& x, std::uint16_t random) noexcept {
  using form = typename detail::half_storage<T>::type::format_type;
  return detail::bits_as<T>(detail::narrowed_at_random<form>(detail::bits_of(x), random));
}

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_LANES_HPP
#define ACCRUE_CORE_LANES_HPP

#include <accrue/core/scalar.hpp>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

// The vector types of g++ and clang; nvcc and hipcc compile the host's loops element by element.
#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(__HIPCC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ACCRUE_HAS_LANES 1
#else
#define ACCRUE_HAS_LANES 0
#endif
#if defined(__GNUC__)
#define ACCRUE_ALWAYS_INLINE __attribute__((always_inline))
#else
#define ACCRUE_ALWAYS_INLINE
#endif

namespace accrue {

/// Elements that the passes handle at once on the host.
inline constexpr std::int64_t lane_count = 8;

#if defined(__AVX__)
inline constexpr std::size_t register_bytes = 32;
#else
inline constexpr std::size_t register_bytes = 16;
#endif

template <class Real>
struct lanes;

template <class T>
inline constexpr bool is_lanes_v = false;
template <class Real>
inline constexpr bool is_lanes_v<lanes<Real>> = true;

/// What can be loaded into lanes.
template <class T>
concept lane_scalar = (ACCRUE_HAS_LANES == 1) && gradient_scalar<T> && !is_complex_v<T>;

#if ACCRUE_HAS_LANES

/// Eight numbers side by side, in vector registers: with them a loop is vector code at -O2 without -march, where g++
/// leaves plain loops scalar. Registers have 32 bytes where the compiler may use AVX, else the 16 bytes that every
/// x86-64 and AArch64 has; still wider ones gain nothing, because the passes wait for memory.
///
/// Arithmetic is that of `Real`, lane by lane; one number stands for eight equal ones.
template <class Real>
struct __attribute__((may_alias)) lanes {
  typedef Real native __attribute__((vector_size(register_bytes)));
  static constexpr std::size_t per_register = register_bytes / sizeof(Real);
  static constexpr std::size_t registers = static_cast<std::size_t>(lane_count) / per_register;

  native part[registers];

  lanes() = default;
  ACCRUE_ALWAYS_INLINE lanes(Real x) {
    if constexpr (per_register == 8)
      *this = map([x]() ACCRUE_ALWAYS_INLINE { return native{x, x, x, x, x, x, x, x}; });
    else if constexpr (per_register == 4)
      *this = map([x]() ACCRUE_ALWAYS_INLINE { return native{x, x, x, x}; });
    else
      *this = map([x]() ACCRUE_ALWAYS_INLINE { return native{x, x}; });
  }

  /// f(register of every argument), register by register. Constant indices only: nothing here goes through memory.
  template <class F, class... Lanes>
  [[nodiscard]] ACCRUE_ALWAYS_INLINE static lanes map(F const& f, Lanes const&... args) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) ACCRUE_ALWAYS_INLINE {
      lanes result;
      ((result.part[I] = at<I>(f, args...)), ...);
      return result;
    }
    (std::make_index_sequence<registers>{});
  }

  friend ACCRUE_ALWAYS_INLINE lanes operator+(lanes const& a, lanes const& b) {
    return map([](native x, native y) ACCRUE_ALWAYS_INLINE { return x + y; }, a, b);
  }
  friend ACCRUE_ALWAYS_INLINE lanes operator-(lanes const& a, lanes const& b) {
    return map([](native x, native y) ACCRUE_ALWAYS_INLINE { return x - y; }, a, b);
  }
  friend ACCRUE_ALWAYS_INLINE lanes operator*(lanes const& a, lanes const& b) {
    return map([](native x, native y) ACCRUE_ALWAYS_INLINE { return x * y; }, a, b);
  }
  friend ACCRUE_ALWAYS_INLINE lanes operator/(lanes const& a, lanes const& b) {
    return map([](native x, native y) ACCRUE_ALWAYS_INLINE { return x / y; }, a, b);
  }
  ACCRUE_ALWAYS_INLINE lanes& operator+=(lanes const& b) { return *this = *this + b; }
  ACCRUE_ALWAYS_INLINE lanes& operator-=(lanes const& b) { return *this = *this - b; }

  [[nodiscard]] Real operator[](std::size_t lane) const { return part[lane / per_register][lane % per_register]; }

 private:
  template <std::size_t I, class F, class... Lanes>
  ACCRUE_ALWAYS_INLINE static native at(F const& f, Lanes const&... args) {
    return f(args.part[I]...);
  }
};

namespace detail {

using floats = lanes<float>::native;
using doubles = lanes<double>::native;
typedef float quarter __attribute__((vector_size(16)));  // four floats
typedef std::uint32_t words __attribute__((vector_size(register_bytes)));
typedef std::uint16_t half8 __attribute__((vector_size(16)));
inline constexpr bool wide_registers = register_bytes == 32;

template <class Register>
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline Register load_register(void const* from) {
  Register loaded;
  std::memcpy(&loaded, from, sizeof loaded);
  return loaded;
}
template <class Register>
ACCRUE_ALWAYS_INLINE inline void store_register(Register const& x, void* to) {
  std::memcpy(to, &x, sizeof x);
}

// g++ has no vector form of sqrt, and takes conversions between float and double apart; its builtins do not.
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline floats root_of_register(floats x) {
#if defined(__AVX__) && __has_builtin(__builtin_ia32_sqrtps256)
  return __builtin_ia32_sqrtps256(x);
#elif !defined(__AVX__) && __has_builtin(__builtin_ia32_sqrtps)
  return __builtin_ia32_sqrtps(x);
#else
  for (std::size_t i = 0; i < lanes<float>::per_register; ++i) x[i] = Kokkos::sqrt(x[i]);
  return x;
#endif
}
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline doubles root_of_register(doubles x) {
#if defined(__AVX__) && __has_builtin(__builtin_ia32_sqrtpd256)
  return __builtin_ia32_sqrtpd256(x);
#elif !defined(__AVX__) && __has_builtin(__builtin_ia32_sqrtpd)
  return __builtin_ia32_sqrtpd(x);
#else
  for (std::size_t i = 0; i < lanes<double>::per_register; ++i) x[i] = Kokkos::sqrt(x[i]);
  return x;
#endif
}

/// Four floats, and of these the lower half where a register holds two doubles, in double.
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline doubles in_double(quarter x) {
#if defined(__AVX__) && !defined(__clang__)
  return __builtin_ia32_cvtps2pd256(x);
#elif defined(__AVX__)
  return __builtin_convertvector(x, doubles);
#elif !defined(__clang__) && __has_builtin(__builtin_ia32_cvtps2pd)
  return __builtin_ia32_cvtps2pd(x);
#else
  return doubles{static_cast<double>(x[0]), static_cast<double>(x[1])};
#endif
}
/// Two registers of doubles as one of floats.
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline floats in_float(doubles low, doubles high) {
#if defined(__AVX__) && !defined(__clang__)
  return __builtin_shufflevector(__builtin_ia32_cvtpd2ps256(low), __builtin_ia32_cvtpd2ps256(high), 0, 1, 2, 3, 4, 5, 6,
                                 7);
#elif defined(__AVX__)
  return __builtin_convertvector(__builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7), floats);
#elif !defined(__clang__) && __has_builtin(__builtin_ia32_cvtpd2ps)
  return __builtin_shufflevector(__builtin_ia32_cvtpd2ps(low), __builtin_ia32_cvtpd2ps(high), 0, 1, 4, 5);
#else
  return __builtin_convertvector(__builtin_shufflevector(low, high, 0, 1, 2, 3), floats);
#endif
}

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

}  // namespace detail

/// Eight elements in the scalar that they are summed in: float for 16 bits, else their own. Guarantee: exact.
template <lane_scalar T>
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline lanes<accumulation_scalar_t<T>> load_lanes(T const* from) {
  lanes<accumulation_scalar_t<T>> loaded;
  if constexpr (detail::sixteen_bit<T>) {
    using storage = typename detail::half_storage<T>::type;
    using form = typename storage::format_type;
    auto const halves = detail::load_register<detail::half8>(from);
    using words = detail::words;
    if constexpr (detail::wide_registers) {
      loaded.part[0] = detail::widened_words<form>(__builtin_convertvector(halves, words));
    } else {
      detail::half8 const zero{};
      loaded.part[0] = detail::widened_words<form>(
          reinterpret_cast<words>(__builtin_shufflevector(halves, zero, 0, 8, 1, 9, 2, 10, 3, 11)));
      loaded.part[1] = detail::widened_words<form>(
          reinterpret_cast<words>(__builtin_shufflevector(halves, zero, 4, 12, 5, 13, 6, 14, 7, 15)));
    }
  } else {
    using native = typename lanes<T>::native;
    [&]<std::size_t... I>(std::index_sequence<I...>) ACCRUE_ALWAYS_INLINE {
      ((loaded.part[I] = detail::load_register<native>(from + I * lanes<T>::per_register)), ...);
    }
    (std::make_index_sequence<lanes<T>::registers>{});
  }
  return loaded;
}

/// Stores eight elements, in one rounding where `T` has 16 bits.
template <lane_scalar T>
ACCRUE_ALWAYS_INLINE inline void store_lanes(lanes<accumulation_scalar_t<T>> const& x, T* to) {
  if constexpr (detail::sixteen_bit<T>) {
    using form = typename detail::half_storage<T>::type::format_type;
    if constexpr (detail::wide_registers) {
      detail::store_register(__builtin_convertvector(detail::narrowed_words<form>(x.part[0]), detail::half8), to);
    } else {
      auto const low = reinterpret_cast<detail::half8>(detail::narrowed_words<form>(x.part[0]));
      auto const high = reinterpret_cast<detail::half8>(detail::narrowed_words<form>(x.part[1]));
      detail::store_register(__builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14), to);
    }
  } else {
    [&]<std::size_t... I>(std::index_sequence<I...>) ACCRUE_ALWAYS_INLINE {
      (detail::store_register(x.part[I], to + I * lanes<T>::per_register), ...);
    }
    (std::make_index_sequence<lanes<T>::registers>{});
  }
}

namespace detail {
template <class Register, class T>
ACCRUE_ALWAYS_INLINE inline void stream_register(Register const& x, T* to) {
#if __has_builtin(__builtin_nontemporal_store)
  __builtin_nontemporal_store(x, reinterpret_cast<Register*>(to));
#elif defined(__AVX__)
  if constexpr (sizeof(T) == sizeof(float))
    __builtin_ia32_movntps256(to, x);
  else
    __builtin_ia32_movntpd256(to, x);
#elif defined(__SSE2__)
  if constexpr (sizeof(T) == sizeof(float))
    __builtin_ia32_movntps(to, x);
  else
    __builtin_ia32_movntpd(to, x);
#else
  store_register(x, to);
#endif
}
}  // namespace detail

/// Stores eight elements past the caches, for memory that is not read again soon: the line is not read to be written.
///
/// Order: `fence_streams` before another thread reads. The address must be a multiple of `register_bytes`.
template <std::floating_point T>
ACCRUE_ALWAYS_INLINE inline void stream_lanes(lanes<T> const& x, T* to) {
  [&]<std::size_t... I>(std::index_sequence<I...>) ACCRUE_ALWAYS_INLINE {
    (detail::stream_register(x.part[I], to + I * lanes<T>::per_register), ...);
  }
  (std::make_index_sequence<lanes<T>::registers>{});
}
inline void fence_streams() {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/// The same numbers in another real type, rounded to the nearest.
template <class To, class From>
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline lanes<To> lanes_as(lanes<From> const& x) {
  if constexpr (std::same_as<To, From>) {
    return x;
  } else if constexpr (std::same_as<To, double>) {
    lanes<double> wide;
    if constexpr (detail::wide_registers) {
      wide.part[0] = detail::in_double(__builtin_shufflevector(x.part[0], x.part[0], 0, 1, 2, 3));
      wide.part[1] = detail::in_double(__builtin_shufflevector(x.part[0], x.part[0], 4, 5, 6, 7));
    } else {
      wide.part[0] = detail::in_double(x.part[0]);
      wide.part[1] = detail::in_double(__builtin_shufflevector(x.part[0], x.part[0], 2, 3, 2, 3));
      wide.part[2] = detail::in_double(x.part[1]);
      wide.part[3] = detail::in_double(__builtin_shufflevector(x.part[1], x.part[1], 2, 3, 2, 3));
    }
    return wide;
  } else {
    lanes<float> narrow;
    narrow.part[0] = detail::in_float(x.part[0], x.part[1]);
    if constexpr (!detail::wide_registers) narrow.part[1] = detail::in_float(x.part[2], x.part[3]);
    return narrow;
  }
}

#endif

/// The square root and the larger of two, for one number or for lanes: what a rule needs that serves both.
template <class T>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T root_of(T const& x) {
#if ACCRUE_HAS_LANES
  if constexpr (is_lanes_v<T>)
    return T::map([](typename T::native part) ACCRUE_ALWAYS_INLINE { return detail::root_of_register(part); }, x);
  else
#endif
    return Kokkos::sqrt(x);
}
template <class T>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T larger_of(T const& a, T const& b) {
#if ACCRUE_HAS_LANES
  if constexpr (is_lanes_v<T>) {
    using native = typename T::native;
    return T::map([](native x, native y) ACCRUE_ALWAYS_INLINE { return y > x ? y : x; }, a, b);
  } else
#endif
    return b > a ? b : a;
}

}  // namespace accrue
#endif

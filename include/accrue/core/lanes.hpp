// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_LANES_HPP
#define ACCRUE_CORE_LANES_HPP

#include <accrue/core/scalar.hpp>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
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

// A loop of few rounds, written out: at -O2 g++ keeps it, and what it indexes in memory.
#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(__HIPCC__)
#define ACCRUE_UNROLLED _Pragma("GCC unroll 4")
#else
#define ACCRUE_UNROLLED
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
inline constexpr bool wide_registers = register_bytes == 32;

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

/// As many doubles as a register has, as floats in the lower lanes.
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline quarter in_quarter(doubles x) {
#if defined(__AVX__) && !defined(__clang__)
  return __builtin_ia32_cvtpd2ps256(x);
#elif defined(__AVX__)
  return __builtin_convertvector(x, quarter);
#else
  return in_float(x, x);
#endif
}

}  // namespace detail

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

#if ACCRUE_HAS_LANES
#if defined(__FMA__) && __has_builtin(__builtin_ia32_vfmaddps256)
#define ACCRUE_FUSED_REGISTERS(a, b, c) __builtin_ia32_vfmaddps256(a, b, c)
/// Whether `fused` is one instruction that rounds once.
inline constexpr bool has_fused_lanes = true;
#else
#define ACCRUE_FUSED_REGISTERS(a, b, c) ((a) * (b) + (c))
inline constexpr bool has_fused_lanes = false;
#endif
/// x * y + z.
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline lanes<float> fused(lanes<float> const& x, lanes<float> const& y,
                                                             lanes<float> const& z) {
  using native = lanes<float>::native;
  return lanes<float>::map(
      [](native a, native b, native c) ACCRUE_ALWAYS_INLINE { return ACCRUE_FUSED_REGISTERS(a, b, c); }, x, y, z);
}
#undef ACCRUE_FUSED_REGISTERS
#endif

/// Doubles of the precision of `Real`: x, rounded to the nearest.
template <class Real, class T>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T rounded_to(T const& x) {
  if constexpr (sizeof(Real) == sizeof(double)) return x;
#if ACCRUE_HAS_LANES
  else if constexpr (is_lanes_v<T>)
    return T::map(
        [](typename T::native part) ACCRUE_ALWAYS_INLINE { return detail::in_double(detail::in_quarter(part)); }, x);
#endif
  else
    return static_cast<T>(static_cast<Real>(x));
}

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

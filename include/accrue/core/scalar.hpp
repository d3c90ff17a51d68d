// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_SCALAR_HPP
#define ACCRUE_CORE_SCALAR_HPP

#include <accrue/core/half.hpp>

#include <Kokkos_Core.hpp>
#include <concepts>
#include <cstdint>

namespace accrue {

/// Whether `T` is a `Kokkos::complex`; `std::complex` has no device functions and is no scalar here.
template <class T>
inline constexpr bool is_complex_v = false;
template <class Real>
inline constexpr bool is_complex_v<Kokkos::complex<Real>> = true;

namespace detail {

template <class T>
struct real_part {
  using type = T;
};
template <class Real>
struct real_part<Kokkos::complex<Real>> {
  using type = Real;
};

// On most hosts Kokkos's half types are float under another name; only where they are types of two bytes do they count.
template <class T>
concept kokkos_half = std::same_as<T, Kokkos::Experimental::half_t> && sizeof(T) == 2;
template <class T>
concept kokkos_bhalf = std::same_as<T, Kokkos::Experimental::bhalf_t> && sizeof(T) == 2 && !kokkos_half<T>;

/// The storage type of accrue that has the bits of `T`; none for wider types.
template <class T>
struct half_storage {};
template <class Format>
struct half_storage<float_storage<Format>> {
  using type = float_storage<Format>;
};
template <kokkos_half T>
struct half_storage<T> {
  using type = float16;
};
template <kokkos_bhalf T>
struct half_storage<T> {
  using type = bfloat16;
};

template <class T>
concept sixteen_bit = requires {
  typename half_storage<T>::type;
};

template <class T>
inline constexpr bool has_exponent_of_float = false;
template <sixteen_bit T>
inline constexpr bool has_exponent_of_float<T> =
    half_storage<T>::type::format_type::exponent_bits == format::binary32::exponent_bits;

template <class T>
struct accumulation_scalar {};
template <sixteen_bit T>
struct accumulation_scalar<T> {
  using type = float;
};
template <>
struct accumulation_scalar<float> {
  using type = float;
};
template <>
struct accumulation_scalar<double> {
  using type = double;
};
template <>
struct accumulation_scalar<Kokkos::complex<float>> {
  using type = Kokkos::complex<float>;
};
template <>
struct accumulation_scalar<Kokkos::complex<double>> {
  using type = Kokkos::complex<double>;
};

template <class Format, std::unsigned_integral Bits>
KOKKOS_FUNCTION constexpr bool has_finite_exponent(Bits bits) {
  constexpr Bits mask = ((Bits(1) << Format::exponent_bits) - Bits(1)) << Format::fraction_bits;
  return (bits & mask) != mask;
}

}  // namespace detail

/// What a gradient may consist of: `float`, `double`, `Kokkos::complex` of them, `float16`, `bfloat16`, and Kokkos's
/// `half_t` and `bhalf_t` where they have two bytes. Without `const`.
template <class T>
concept gradient_scalar = requires {
  typename detail::accumulation_scalar<T>::type;
};

/// The real type below `T`: `Real` for `Kokkos::complex<Real>`, else `T`.
template <class T>
using real_t = typename detail::real_part<T>::type;

/// What gradients of `T` are summed in unless the recipe says otherwise: `float` for 16 bits, else `T`.
template <gradient_scalar T>
using accumulation_scalar_t = typename detail::accumulation_scalar<T>::type;

/// The same number in the type it is summed in. Guarantee: exact.
template <gradient_scalar T>
[[nodiscard]] KOKKOS_FUNCTION constexpr accumulation_scalar_t<T> widen(T const& x) noexcept {
  if constexpr (detail::sixteen_bit<T>)
    return detail::bits_as<typename detail::half_storage<T>::type>(x);
  else
    return x;
}

/// The number of type `T` nearest to `x`, ties to even; a complex number part by part.
///
/// Guarantee: one rounding, from `double` to 16 bits too, and the same bits on host and device.
template <gradient_scalar T, gradient_scalar From>
  requires(is_complex_v<T> == is_complex_v<From>)
[[nodiscard]] KOKKOS_FUNCTION constexpr T narrow(From const& x) noexcept {
  if constexpr (std::same_as<T, From>)
    return x;
  else if constexpr (detail::sixteen_bit<T>)
    return detail::bits_as<T>(typename detail::half_storage<T>::type(widen(x)));
  else
    return static_cast<T>(widen(x));
}

/// Whether `x` is neither infinite nor NaN; a complex number when both parts are finite.
///
/// Guarantee: looks at the bits of the exponent only, so that it holds under -ffast-math for what was read from memory.
// By reference: clang's -ffast-math promises that no float is passed by value that is not finite.
template <gradient_scalar T>
[[nodiscard]] KOKKOS_FUNCTION constexpr bool is_finite(T const& x) noexcept {
  if constexpr (is_complex_v<T>) {
    return is_finite(x.real()) && is_finite(x.imag());
  } else if constexpr (detail::sixteen_bit<T>) {
    using storage = typename detail::half_storage<T>::type;
    return detail::has_finite_exponent<typename storage::format_type>(detail::bits_as<std::uint16_t>(x));
  } else if constexpr (std::same_as<T, float>) {
    return detail::has_finite_exponent<format::binary32>(detail::bits_of(x));
  } else {
    return detail::has_finite_exponent<format::binary64>(detail::bits_of(x));
  }
}

/// Whether `x` is NaN; looks at the bits, as `is_finite` does.
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr bool is_not_a_number(double const& x) noexcept {
  return !is_finite(x) && (detail::bits_of(x) << 12) != 0;
}

static_assert(gradient_scalar<float> && gradient_scalar<double> && gradient_scalar<float16> &&
              gradient_scalar<bfloat16> && gradient_scalar<Kokkos::complex<float>> &&
              gradient_scalar<Kokkos::complex<double>> && !gradient_scalar<int> && !gradient_scalar<long double>);

}  // namespace accrue
#endif

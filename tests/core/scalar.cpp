// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every claim here must hold with -ffast-math too; so numbers that are not finite are made from bits, never computed.
#include <accrue/core/scalar.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace {

using accrue::bfloat16;
using accrue::float16;
using complex_float = Kokkos::complex<float>;
using complex_double = Kokkos::complex<double>;
using half_t = Kokkos::Experimental::half_t;    // float, or a type of two bytes
using bhalf_t = Kokkos::Experimental::bhalf_t;  // likewise

template <class T, class Bits>
T made_of(Bits bits) {
  static_assert(sizeof(T) == sizeof(Bits));
  T x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

template <class T>
struct patterns;  // bit patterns of finite numbers, and of others
template <>
struct patterns<float> {
  using bits = std::uint32_t;
  static constexpr bits finite[] = {0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x3f800000, 0x7f7fffff, 0xff7fffff};
  static constexpr bits other[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x7fffffff};
};
template <>
struct patterns<double> {
  using bits = std::uint64_t;
  static constexpr bits finite[] = {0,
                                    0x8000000000000000,
                                    1,
                                    0x800fffffffffffff,
                                    0x0010000000000000,
                                    0x3ff0000000000000,
                                    0x7fefffffffffffff,
                                    0xffefffffffffffff};
  static constexpr bits other[] = {0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
                                   0xfff8000000000000, 0x7ff0000000000001, 0x7fffffffffffffff};
};

// Counts what is not finite among numbers in memory, as a pass over gradients does.
template <class T>
int not_finite(std::vector<T> const& numbers) {
  int count = 0;
  for (T const& x : numbers) count += !accrue::is_finite(x);
  return count;
}

template <class T>
struct look_in_a_kernel {
  Kokkos::View<T*> x;

  KOKKOS_FUNCTION void operator()(int i, int& count) const { count += !accrue::is_finite(x(i)); }
};

template <class T>
struct widen_and_narrow_in_a_kernel {
  Kokkos::View<T*> x;

  KOKKOS_FUNCTION void operator()(int i) const {
    auto const wide = accrue::widen(x(i));
    x(i) = accrue::narrow<T>(wide + wide);
  }
};

static_assert(accrue::is_complex_v<complex_float> && accrue::is_complex_v<complex_double>);
static_assert(!accrue::is_complex_v<double> && !accrue::is_complex_v<std::complex<double>>);

static_assert(std::is_same_v<accrue::real_t<complex_double>, double>);
static_assert(std::is_same_v<accrue::real_t<float16>, float16>);

static_assert(std::is_same_v<accrue::accumulation_scalar_t<float16>, float>);
static_assert(std::is_same_v<accrue::accumulation_scalar_t<bfloat16>, float>);
static_assert(std::is_same_v<accrue::accumulation_scalar_t<half_t>, float>);
static_assert(std::is_same_v<accrue::accumulation_scalar_t<bhalf_t>, float>);
static_assert(std::is_same_v<accrue::accumulation_scalar_t<float>, float>);
static_assert(std::is_same_v<accrue::accumulation_scalar_t<double>, double>);
static_assert(std::is_same_v<accrue::accumulation_scalar_t<complex_float>, complex_float>);
static_assert(std::is_same_v<accrue::accumulation_scalar_t<complex_double>, complex_double>);

static_assert(accrue::gradient_scalar<half_t> && accrue::gradient_scalar<bhalf_t>);
static_assert(!accrue::gradient_scalar<int> && !accrue::gradient_scalar<long double>);
static_assert(!accrue::gradient_scalar<float const> && !accrue::gradient_scalar<float&>);
static_assert(!accrue::gradient_scalar<std::complex<float>>);

static_assert(std::is_same_v<decltype(accrue::widen(float16())), float>);

static_assert(accrue::widen(bfloat16(1.5f)) == 1.5f && accrue::widen(2.0) == 2.0);
static_assert(accrue::narrow<float>(0.1) == 0.1f && accrue::narrow<double>(float16(3.0f)) == 3.0);
static_assert(accrue::narrow<float16>(1.0 + 0x1p-11 + 0x1p-40).bits() == 0x3c01);  // by way of float it would be 0x3c00
static_assert(accrue::is_finite(1.0f) && accrue::is_finite(std::numeric_limits<double>::max()));
static_assert(!accrue::is_finite(float16::from_bits(0x7c00)) && !accrue::is_finite(bfloat16::from_bits(0x7fc0)));

}  // namespace

TEST_CASE_TEMPLATE("is_finite refuses infinity and NaN, and nothing else", T, float, double) {
  using bits = typename patterns<T>::bits;
  std::vector<T> finite, other;
  for (bits b : patterns<T>::finite) finite.push_back(made_of<T>(b));
  for (bits b : patterns<T>::other) other.push_back(made_of<T>(b));
  CHECK(not_finite(finite) == 0);
  CHECK(not_finite(other) == static_cast<int>(other.size()));
}

TEST_CASE_TEMPLATE("a complex number is finite when both parts are", T, float, double) {
  T const one(1), infinity = made_of<T>(patterns<T>::other[0]), nan = made_of<T>(patterns<T>::other[2]);
  CHECK(accrue::is_finite(Kokkos::complex<T>(one, one)));
  std::vector<Kokkos::complex<T>> const other{
      {infinity, one}, {one, infinity}, {nan, one}, {one, nan}, {nan, infinity}};
  CHECK(not_finite(other) == 5);
}

TEST_CASE_TEMPLATE("is_finite knows every 16-bit pattern", T, float16, bfloat16) {
  int const exponents = (1 << T::format_type::exponent_bits) - 1;
  int wrong = 0;
  for (std::uint32_t pattern = 0; pattern <= 0xffff; ++pattern) {
    int const exponent = static_cast<int>(pattern >> T::format_type::fraction_bits) & exponents;
    wrong += accrue::is_finite(T::from_bits(static_cast<std::uint16_t>(pattern))) != (exponent != exponents);
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("a kernel finds what is not finite", T, float, double) {
  Kokkos::View<T*> const x("x", 4);
  auto const host = Kokkos::create_mirror_view(x);
  host(0) = made_of<T>(patterns<T>::other[0]);
  host(1) = T(1);
  host(2) = made_of<T>(patterns<T>::other[2]);
  host(3) = made_of<T>(patterns<T>::finite[6]);
  Kokkos::deep_copy(x, host);
  int count = 0;
  Kokkos::parallel_reduce("look", 4, look_in_a_kernel<T>{x}, count);
  CHECK(count == 2);
}

TEST_CASE_TEMPLATE("a kernel computes in the wide type and stores in the narrow one", T, float16, bfloat16, half_t,
                   bhalf_t, float, double, complex_float, complex_double) {
  Kokkos::View<T*> const x("x", 2);
  auto const host = Kokkos::create_mirror_view(x);
  host(0) = T(0.75f);
  host(1) = T(-3.0f);
  Kokkos::deep_copy(x, host);
  Kokkos::parallel_for("widen_and_narrow", 2, widen_and_narrow_in_a_kernel<T>{x});
  Kokkos::deep_copy(host, x);
  CHECK(accrue::widen(host(0)) == accrue::accumulation_scalar_t<T>(1.5f));
  CHECK(accrue::widen(host(1)) == accrue::accumulation_scalar_t<T>(-6.0f));
}

TEST_CASE_TEMPLATE("what is widened comes back unchanged", T, float16, bfloat16, half_t, bhalf_t, float, double) {
  for (float f : {0.0f, -1.5f, 3.140625f, 65280.0f}) {
    T const x(f);
    CHECK(accrue::narrow<T>(accrue::widen(x)) == x);
    CHECK(accrue::narrow<T>(static_cast<double>(accrue::widen(x))) == x);
  }
}

TEST_CASE("a complex number is narrowed part by part") {
  complex_float const z = accrue::narrow<complex_float>(complex_double(0.1, -1e-3));
  CHECK(z.real() == 0.1f);
  CHECK(z.imag() == -1e-3f);
}

TEST_CASE("one kernel serves every scalar") {
  // [scalar]
  auto const scaled = []<accrue::gradient_scalar T>(T gradient, double factor) {
    using wide = accrue::accumulation_scalar_t<T>;
    return accrue::narrow<T>(accrue::widen(gradient) * accrue::real_t<wide>(factor));
  };
  CHECK(scaled(accrue::bfloat16(3.0f), 0.5) == 1.5f);
  CHECK(scaled(Kokkos::complex<float>(3.0f, 4.0f), 0.5) == Kokkos::complex<float>(1.5f, 2.0f));
  // [/scalar]
}

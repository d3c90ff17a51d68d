// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATE_COMPENSATED_HPP
#define ACCRUE_ACCUMULATE_COMPENSATED_HPP

#include <accrue/accumulate/summation.hpp>
#include <accrue/core/carried.hpp>
#include <accrue/core/diagnostics.hpp>
#include <accrue/core/rounded.hpp>

#include <Kokkos_Core.hpp>
#include <string_view>

namespace accrue {

/// A sum in `Real` and what its rounding left over, at most half a unit in its last place.
template <class Real>
struct compensated_sum;

/// Two floats hold 48 bits: they are added up in double, where nothing has to be taken apart.
template <>
struct compensated_sum<float> {
  using word = float;
  static constexpr int words = 1;
  static constexpr bool value_is_late = false;
  static constexpr bool fits_double = true;

  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static void begin(T& sum, T (&rest)[1], T const& x) {
    sum = rounded_to<float>(x);
    rest[0] = minus(x, sum);
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static void add(T& sum, T (&rest)[1], T const& x) {
    begin(sum, rest, plus(plus(sum, rest[0]), x));
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static void merge(T& sum, T (&rest)[1], T const& other, T const (&others)[1]) {
    add(sum, rest, plus(other, others[0]));
  }
  template <class T>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static T value(T const& sum, T const (&)[1]) {
    return sum;
  }
};

/// Two doubles, after Knuth and Dekker: the error of each addition is found exactly, and added up beside the sum.
template <>
struct compensated_sum<double> {
  using word = double;
  static constexpr int words = 1;
  static constexpr bool value_is_late = false;

  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static void begin(T& sum, T (&rest)[1], T const& x) {
    sum = x;
    rest[0] = T(0.0);
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static void add(T& sum, T (&rest)[1], T const& x) {
    static_assert(rounds_as_written_v<T>, ACCRUE_SAY_REORDERED);
    exact_sum<T> const grown(sum, rounded(x));
    exact_sum<T> const settled(grown.sum, plus(rest[0], grown.rest));
    sum = settled.sum;
    rest[0] = settled.rest;
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static void merge(T& sum, T (&rest)[1], T const& other, T const (&others)[1]) {
    rest[0] = plus(rest[0], others[0]);
    add(sum, rest, other);
  }
  template <class T>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static T value(T const& sum, T const (&)[1]) {
    return sum;
  }
};

/// Sums in the scalar of `widened<>`, and carries the rounding errors of every sum in a second buffer.
///
/// Guarantee: n products summed in float come out as if they were summed with 48 bits and rounded once: off by half a
/// unit in the last place and n * 2^-48 of the largest partial sum; in double with 2^-105 in place of 2^-48, beside the
/// rounding of each product to double. The order of the microbatches still matters to what is beyond that. Holds under
/// -ffast-math: floats by construction; doubles where the compiler has a barrier against reordering, else they do not
/// compile.
/// Cost: one more buffer; a pass over floats moves 20 bytes an element instead of 12, one over doubles 40 instead
/// of 24. Not with `adopt`, with rows or with gradients that a producer writes into the sums, which leave out what is
/// carried.
struct compensated {
  using fills = slot::summation;
  static constexpr std::string_view name = "compensated";
  template <class P>
  using buffer_scalar = accumulation_scalar_t<P>;
  template <class Real>
  using carry = compensated_sum<Real>;
  friend bool operator==(compensated const&, compensated const&) = default;
};

static_assert(summation_policy<compensated> && carries_v<compensated>);

}  // namespace accrue
#endif

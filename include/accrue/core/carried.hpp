// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_CARRIED_HPP
#define ACCRUE_CORE_CARRIED_HPP

#include <accrue/core/lanes.hpp>
#include <accrue/core/scalar.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

namespace accrue {

/// Whether a summation carries something beside each sum, in memory of its own, because the buffer's scalar cannot hold
/// it: then it has `template <class Real> using carry`, for the real type of a buffer.
///
/// `carry<Real>` has `words` of type `word` for each real number of the buffer; `product`, the type in which products
/// of gradients and weights are formed; and as device functions, for a number and for lanes of them alike:
///
///     begin(sum, words, product)         the first product of a group
///     add(sum, words, product)           another one
///     merge(sum, words, other, others)   another sum with its words
///     value(sum, words)                  the sum, rounded once to the buffer's scalar
///
/// `value_is_late` says that `begin`, `add` and `merge` leave the sum alone, and `value` is called when it is needed.
template <class Summation>
inline constexpr bool carries_v = requires {
  typename Summation::template carry<float>::word;
};

/// What the products for sums of scalar `B` are formed in.
template <class Carry, class B>
using product_scalar_of =
    std::conditional_t<is_complex_v<B>, Kokkos::complex<typename Carry::product>, typename Carry::product>;

namespace detail {
template <class Summation, class B>
struct carrying {
  using product = B;
  static constexpr std::int64_t bytes = 0;
  static constexpr bool late = false;
};
template <class Summation, class B>
  requires(carries_v<Summation>)
struct carrying<Summation, B> {
  using carry = typename Summation::template carry<real_t<B>>;
  using product = product_scalar_of<carry, B>;
  static constexpr std::int64_t bytes =
      carry::words * static_cast<std::int64_t>(sizeof(typename carry::word)) * (is_complex_v<B> ? 2 : 1);
  static constexpr bool late = carry::value_is_late;
};
}  // namespace detail

/// What carries for sums of scalar `B`, which may be complex: part by part.
template <class Summation, class B>
using carry_of = typename Summation::template carry<real_t<B>>;

/// The scalar in which products are formed that are summed in `B`: `B` itself where nothing is carried.
template <class Summation, class B>
using product_scalar = typename detail::carrying<Summation, B>::product;

/// What is carried for each element of a buffer of `B`.
template <class Summation, class B>
inline constexpr std::int64_t carried_bytes = detail::carrying<Summation, B>::bytes;

/// The sums are in the buffer only after a pass that was asked for them.
template <class Summation>
inline constexpr bool value_is_late_v = detail::carrying<Summation, float>::late;

/// A number, or lanes of them, in another real type, rounded to the nearest.
template <class To, class T>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION auto real_as(T const& x) {
#if ACCRUE_HAS_LANES
  if constexpr (is_lanes_v<T>)
    return lanes_as<To>(x);
  else
#endif
    return static_cast<To>(x);
}

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_CARRIED_HPP
#define ACCRUE_CORE_CARRIED_HPP

#include <accrue/core/scalar.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

namespace accrue {

/// Whether a summation carries something beside each sum, in memory of its own, because the buffer's scalar cannot hold
/// it: then it has `template <class Real> using carry`, for the real type of a buffer.
///
/// `carry<Real>` has `words` of type `word`, beside each real number of the buffer, and as device functions, for
/// doubles and for lanes of them alike:
///
///     begin(sum, words, product)      the first product of a group
///     add(sum, words, product)        another one
///     merge(sum, words, sum, words)   another sum with its words
///     value(sum, words)               the sum, rounded once to `Real`
///
/// Sum and words are loaded into doubles, and rounded when they are stored. `value_is_late` says that only `value`,
/// called when it is needed, knows the sum: it is not loaded then. Products are formed in double.
///
/// For sums over replicas it also says how they are exchanged. `fits_double`: sum and words, added up in double, are
/// all of it. `has_bins`: the words are sums of bins on anchors, with `highest`, `take_off_anchors` and
/// `put_on_anchors` of `binned`.
template <class Summation>
inline constexpr bool carries_v = requires {
  typename Summation::template carry<float>::word;
};

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
  using product = std::conditional_t<is_complex_v<B>, Kokkos::complex<double>, double>;
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

/// How what a summation carries for sums of scalar `B` goes to other replicas.
enum class exchange_of_sums { plain, in_double, by_bins, none };

template <class Summation, class B>
[[nodiscard]] constexpr exchange_of_sums exchange_for() {
  if constexpr (!carries_v<Summation>) {
    return exchange_of_sums::plain;
  } else {
    using carry = carry_of<Summation, B>;
    if constexpr (requires { requires carry::fits_double; })
      return exchange_of_sums::in_double;
    else if constexpr (requires { requires carry::has_bins; })
      return exchange_of_sums::by_bins;
    else
      return exchange_of_sums::none;
  }
}

/// The sums are in the buffer only after a pass that was asked for them.
template <class Summation>
inline constexpr bool value_is_late_v = detail::carrying<Summation, float>::late;

}  // namespace accrue
#endif

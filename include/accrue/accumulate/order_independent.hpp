// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATE_ORDER_INDEPENDENT_HPP
#define ACCRUE_ACCUMULATE_ORDER_INDEPENDENT_HPP

#include <accrue/accumulate/binned_sum.hpp>
#include <accrue/accumulate/summation.hpp>
#include <accrue/core/carried.hpp>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace accrue {

/// What is carried for a sum in `Real`: sums of bins, of which the sum itself is made when it is needed.
template <class Real>
struct order_independent_sum {
  using word = double;
  static constexpr int words = std::is_same_v<Real, double> ? 3 : 2;
  static constexpr bool value_is_late = true;
  static constexpr bool has_bins = true;

  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static void begin(T&, T (&bins)[words], T const& x) {
    by_register(
        bins, [](auto& own, auto const& by) { binned<words>::begin(own, by); }, rounded(x));
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static void add(T&, T (&bins)[words], T const& x) {
    by_register(
        bins, [](auto& own, auto const& by) { binned<words>::add(own, by); }, rounded(x));
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static void merge(T&, T (&bins)[words], T const&, T const (&others)[words]) {
    binned<words>::merge(bins, others);
  }
  template <class T>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static T value(T const&, T const (&bins)[words]) {
    T sum(0.0), own[words];
    ACCRUE_UNROLLED
    for (int k = 0; k < words; ++k) own[k] = bins[k];
    by_register(
        own, [](auto& each, auto const&) { each[0] = binned<words>::value(each); }, sum);
    return rounded_to<Real>(own[0]);
  }

  [[nodiscard]] KOKKOS_FUNCTION static std::uint8_t highest(double const (&bins)[words]) {
    return binned<words>::highest(bins);
  }
  KOKKOS_FUNCTION static void take_off_anchors(double (&bins)[words], std::uint8_t highest) {
    binned<words>::take_off_anchors(bins, highest);
  }
  KOKKOS_FUNCTION static void put_on_anchors(double (&bins)[words], std::uint8_t highest) {
    binned<words>::put_on_anchors(bins, highest);
  }

 private:
  /// what(sums, x) for a number; for lanes register by register.
  template <class W, class What>
  KOKKOS_FORCEINLINE_FUNCTION static void by_register(W (&bins)[words], What const& what, W const& x) {
#if ACCRUE_HAS_LANES
    if constexpr (is_lanes_v<W>) {
      [&]<std::size_t... R>(std::index_sequence<R...>) ACCRUE_ALWAYS_INLINE { (in_register<R>(bins, what, x), ...); }
      (std::make_index_sequence<W::registers>{});
    } else
#endif
      what(bins, x);
  }
#if ACCRUE_HAS_LANES
  template <std::size_t R, class W, class What>
  ACCRUE_ALWAYS_INLINE static void in_register(W (&bins)[words], What const& what, W const& x) {
    typename W::native own[words]{};
    ACCRUE_UNROLLED
    for (int k = 0; k < words; ++k) own[k] = bins[k].part[R];
    what(own, x.part[R]);
    ACCRUE_UNROLLED
    for (int k = 0; k < words; ++k) bins[k].part[R] = own[k];
  }
#endif
};

/// Sums whose bits do not depend on the order of the contributions, on the number of threads, or on which replica sums
/// which of them.
///
/// Guarantee: the sum of n products is exact, rounded to double and then to the buffer's scalar, but for what each of
/// them has below the lowest bin: less than 2^-32 of the largest product where the buffer is float, 2^-64 where it is
/// double. The same contributions give the same bits: of the gradient, of its norm, of the weight under `weighted`, of
/// a loss given as numbers. A loss on the device is summed plainly. A product that is not finite, or is 2^993 or more,
/// makes the sum NaN. Under -ffast-math it needs a compiler that has a barrier against reordering, else it does not
/// compile. Cost: two doubles beside each float of the buffer, three beside each double; a pass over floats moves 36
/// bytes an element instead of 12, over doubles 56 instead of 24. Where the boundary does not know the last microbatch,
/// the update reads them once more. Failure: `accrue::error` for more than 1 048 575 contributions in a group. Not with
/// `adopt`, with rows or with gradients that a producer writes into the sums.
struct order_independent {
  using fills = slot::summation;
  static constexpr std::string_view name = "order_independent";
  static constexpr std::int64_t most_contributions = binned<2>::most;
  template <class P>
  using buffer_scalar = accumulation_scalar_t<P>;
  template <class Real>
  using carry = order_independent_sum<Real>;
  /// What the host sums real numbers in.
  using total = binned_total<double>;
  friend bool operator==(order_independent const&, order_independent const&) = default;
};

static_assert(summation_policy<order_independent> && carries_v<order_independent>);

}  // namespace accrue
#endif

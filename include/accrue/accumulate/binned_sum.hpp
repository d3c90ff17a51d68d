// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATE_BINNED_SUM_HPP
#define ACCRUE_ACCUMULATE_BINNED_SUM_HPP

#include <accrue/core/diagnostics.hpp>
#include <accrue/core/lane_bits.hpp>
#include <accrue/core/rounded.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace accrue {

/// Sums of doubles that do not depend on the order, after Demmel and Nguyen, "Fast Reproducible Floating-Point
/// Summation" (2013), and ReproBLAS.
///
/// The range of double is cut into bins of 32 bits, always at the same places. Each number is cut at their borders into
/// slices, of which those of the `Bins` highest bins that any number reached are kept; each is added to the sum of its
/// bin, exactly. The sum of a bin is kept on an anchor, 1.5 * 2^52 units of the bin, so that its exponent names the bin
/// and an addition to the anchor cuts off a slice. A number that is higher than the bins moves them up: sums of bins
/// move to other places as a whole, and what is below the lowest is dropped as a whole.
///
/// Guarantee: exact but for what is below the lowest bin, which is less than 2^(-32 (Bins - 1)) of the largest number,
/// for each number, or than 2^-1054. What is not finite or is 2^993 or more makes NaN of the sum, for good. At most
/// `most` numbers.
template <int Bins>
struct binned {
  static constexpr std::int64_t most = (std::int64_t{1} << 20) - 1;  ///< slices of 2^31 units, and 2^51 to go

  /// Sums on their anchors for x alone; V is double or a register of them.
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION static void begin(V (&sums)[Bins], V const& x) {
    anchors(sums, anchor_for(x));
    add_slices(sums, x);
  }
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION static void add(V (&sums)[Bins], V const& x) {
    auto const above = magnitude(x) >= capacity(sums[0]);
    if (detail::any_of(above)) {
      V moved[Bins];  // apart, so that the sums stay in registers
      ACCRUE_UNROLLED
      for (int k = 0; k < Bins; ++k) moved[k] = sums[k];
      move_up(moved, bits<V>(above ? bits_of_anchor_for(x) : exponent_in(sums[0])));
      ACCRUE_UNROLLED
      for (int k = 0; k < Bins; ++k) sums[k] = moved[k];
    }
    add_slices(sums, x);
  }
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION static void merge(V (&sums)[Bins], V const (&others)[Bins]) {
    V own[Bins];
    ACCRUE_UNROLLED
    for (int k = 0; k < Bins; ++k) own[k] = others[k];
    auto const mine = exponent_in(sums[0]), theirs = exponent_in(own[0]);
    auto const higher = theirs > mine ? theirs : mine;
    move_up(sums, higher);
    move_up(own, higher);
    V anchor = anchor_in(own[0]);
    ACCRUE_UNROLLED
    for (int k = 0; k < Bins; ++k, anchor = next(anchor)) sums[k] = plus(sums[k], minus(own[k], anchor));
  }
  /// The number of the highest bin, from 1, for an agreement on the same bins; more for a sum that is NaN.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static std::uint8_t highest(double const (&sums)[Bins]) {
    std::uint64_t const exponent = exponent_in(sums[0]);
    return static_cast<std::uint8_t>(exponent == exponent_mask ? undefined : ((exponent >> 52) - 53) / 32 + 1);
  }
  /// The sums of the bins from that of `highest` on, without their anchors: exact sums of them, in any order, are sums
  /// of the numbers, as long as those are not more than `most` in all. And back.
  KOKKOS_FORCEINLINE_FUNCTION static void take_off_anchors(double (&sums)[Bins], std::uint8_t highest) {
    move_up(sums, exponent_of_bin(highest));
    double anchor = anchor_in(sums[0]);
    for (int k = 0; k < Bins; ++k, anchor = next(anchor)) sums[k] = minus(sums[k], anchor);
  }
  KOKKOS_FORCEINLINE_FUNCTION static void put_on_anchors(double (&sums)[Bins], std::uint8_t highest) {
    double anchor = detail::from_bits<double>(exponent_of_bin(highest) | half);
    for (int k = 0; k < Bins; ++k, anchor = next(anchor)) sums[k] = plus(anchor, sums[k]);
  }
  /// In a fixed order, from the highest bin; rounded to double.
  template <class V>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static V value(V const (&sums)[Bins]) {
    V const anchor = anchor_in(sums[0]);
    V const first = minus(sums[0], anchor);
    V const second = minus(sums[1], next(anchor));
    if constexpr (Bins == 2) {
      return plus(first, second);
    } else {
      exact_sum<V> const both(first, second);
      return plus(both.sum, plus(both.rest, minus(sums[2], next(next(anchor)))));
    }
  }

 private:
  static_assert(Bins == 2 || Bins == 3);
  template <class V>
  using bits = typename detail::bits_beside<V>::type;

  static constexpr std::uint64_t exponent_mask = 0x7ff0000000000000;
  static constexpr std::uint64_t half = 0x0008000000000000;  ///< 1.5 * 2^e beside the exponent of 2^e
  static constexpr std::uint64_t bin = std::uint64_t{32} << 52;
  static constexpr std::uint8_t undefined = 127;  ///< in place of the number of a bin, of which there are 63

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static std::uint64_t exponent_of_bin(std::uint8_t number) {
    return number == undefined ? exponent_mask : (std::uint64_t{32} * (number - std::uint64_t{1}) + 53) << 52;
  }

  template <class V>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static bits<V> exponent_in(V const& sum) {
    return detail::bits_in(sum) & exponent_mask;
  }
  template <class V>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static V anchor_in(V const& sum) {
    return detail::from_bits<V>(exponent_in(sum) | half);
  }
  template <class V>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static V next(V const& anchor) {
    return anchor * 0x1p-32;
  }
  template <class V>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static V magnitude(V const& x) {
    return detail::from_bits<V>(detail::bits_in(x) & 0x7fffffffffffffff);
  }
  /// What the numbers of a sum's bin stay below: 2^31 units.
  template <class V>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static V capacity(V const& sum) {
    return detail::from_bits<V>(exponent_in(sum)) * 0x1p-21;
  }
  /// The exponent of the anchor of x's bin: x has an exponent from 32 j to 32 j + 31, the anchor 53 more than 32 j. For
  /// x beyond the last bin that of NaN.
  template <class V>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static bits<V> bits_of_anchor_for(V const& x) {
    bits<V> from = (detail::bits_in(x) >> 52) & 0x7e0;
    if constexpr (Bins == 3) from = from + (((from - 1) >> 63) << 5);  // the lowest unit stays above the last bit of 0
    bits<V> const beyond = (from + 32) >> 11;                          // 1 or 0
    return (from + 53 - (22 & (0 - beyond))) << 52;
  }
  template <class V>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static V anchor_for(V const& x) {
    return detail::from_bits<V>(bits_of_anchor_for(x) | half);
  }
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION static void anchors(V (&sums)[Bins], V const& first) {
    sums[0] = first;
    ACCRUE_UNROLLED
    for (int k = 1; k < Bins; ++k) sums[k] = next(sums[k - 1]);
  }
  /// What an addition to a bin's sum makes of it, on its anchor, is a slice of x: the multiple of the bin's unit that
  /// is nearest. The last bit of x, far below, is set for that, so that there are no ties for the sum to decide.
  template <class V>
  KOKKOS_FORCEINLINE_FUNCTION static void add_slices(V (&sums)[Bins], V x) {
    static_assert(rounds_as_written_v<V>, ACCRUE_SAY_REORDERED);
    ACCRUE_UNROLLED
    for (int k = 0; k < Bins; ++k) {
      V const before = sums[k];
      sums[k] = plus(before, detail::from_bits<V>(detail::bits_in(x) | 1));
      if (k + 1 < Bins) x = plus(x, minus(before, sums[k]));
    }
  }
  /// Bins from that of an anchor's exponent on, which is theirs or higher.
  template <class V>
  KOKKOS_FUNCTION static void move_up(V (&sums)[Bins], bits<V> const& to) {
    bits<V> const from = exponent_in(sums[0]);
    V fresh[Bins];
    anchors(fresh, detail::from_bits<V>(to | half));
    ACCRUE_UNROLLED
    for (int k = Bins - 1; k >= 0; --k) {
      V moved = fresh[k];
      ACCRUE_UNROLLED
      for (int d = 0; d <= k; ++d) moved = to == from + static_cast<std::uint64_t>(d) * bin ? sums[k - d] : moved;
      sums[k] = moved;
    }
  }
};

/// The same for real numbers on the host: what a group weighs.
template <class Real>
class binned_total {
 public:
  binned_total& operator+=(Real x) {
    if (empty_)
      binned<3>::begin(sums_, rounded(x));
    else
      binned<3>::add(sums_, rounded(x));
    empty_ = false;
    return *this;
  }
  /// Adds what others summed.
  binned_total& operator+=(binned_total const& other) {
    if (empty_) return *this = other;
    if (!other.empty_) binned<3>::merge(sums_, other.sums_);
    return *this;
  }
  /// For a restart, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(empty_, sums_[0], sums_[1], sums_[2]);
  }
  explicit operator Real() const { return empty_ ? Real(0) : binned<3>::value(sums_); }

 private:
  Real sums_[3]{};
  bool empty_ = true;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_CARRIED_ELEMENT_HPP
#define ACCRUE_PASSES_CARRIED_ELEMENT_HPP

#include <accrue/core/carried.hpp>
#include <accrue/core/lane_memory.hpp>
#include <accrue/passes/add.hpp>
#include <accrue/passes/block.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <utility>

namespace accrue {

/// What is carried beside the sums of one view, and the sums: numbers one after the other, a complex one as two.
template <class B, class Carry>
struct sums_of_view {
  using real = real_t<B>;
  using word = typename Carry::word;
  static constexpr std::int64_t parts = is_complex_v<B> ? 2 : 1;

  real* sums;
  word* words;
  std::int64_t words_apart;

  KOKKOS_FUNCTION sums_of_view(carried_sums<Carry> const& carried, strided const& view, std::int32_t number)
      : sums(static_cast<real*>(view.data)),
        words(carried.first + parts * carried.placements[number].begin),
        words_apart(parts * carried.words_apart) {}

  // At the number `i`: what is carried of it, and its sum.
  KOKKOS_FORCEINLINE_FUNCTION void load(std::int64_t i, double (&own)[Carry::words]) const {
    ACCRUE_UNROLLED
    for (int k = 0; k < Carry::words; ++k) own[k] = static_cast<double>(words[k * words_apart + i]);
  }
  KOKKOS_FORCEINLINE_FUNCTION void store(std::int64_t i, double const (&own)[Carry::words]) const {
    ACCRUE_UNROLLED
    for (int k = 0; k < Carry::words; ++k) words[k * words_apart + i] = static_cast<word>(own[k]);
  }
  KOKKOS_FORCEINLINE_FUNCTION void store_sum(std::int64_t i, double sum) const { sums[i] = static_cast<real>(sum); }
#if ACCRUE_HAS_LANES
  ACCRUE_ALWAYS_INLINE void load(std::int64_t i, lanes<double> (&own)[Carry::words]) const {
    ACCRUE_UNROLLED
    for (int k = 0; k < Carry::words; ++k) own[k] = load_wide(words + k * words_apart + i);
  }
  ACCRUE_ALWAYS_INLINE void store(std::int64_t i, lanes<double> const (&own)[Carry::words], bool past_caches) const {
    ACCRUE_UNROLLED
    for (int k = 0; k < Carry::words; ++k) put(own[k], words + k * words_apart + i, past_caches);
  }
  ACCRUE_ALWAYS_INLINE void store_sum(std::int64_t i, lanes<double> const& sum, bool past_caches) const {
    put(sum, sums + i, past_caches);
  }

 private:
  template <class Real>
  ACCRUE_ALWAYS_INLINE static void put(lanes<double> const& x, Real* to, bool past_caches) {
    if (past_caches)
      stream_lanes(lanes_as<Real>(x), to);
    else
      store_rounded(x, to);
  }
#endif
};

/// Adds the weighed gradients of `count` sets to the sums and to what is carried beside them; the first of a group
/// begins both.
template <class G, class B, class Weigh, int Sets, class Carry>
struct carried_element {
  using product = std::conditional_t<is_complex_v<B>, Kokkos::complex<double>, double>;
  static constexpr std::int64_t parts = is_complex_v<B> ? 2 : 1;
  /// Squares of floats are exact in double, so that their sum has the bits that another walk finds.
  static constexpr bool measurable = std::is_same_v<B, float>;
  static constexpr bool carries = measurable;

  sums_of_view<B, Carry> to;
  bool overwrites;
  bool far;      ///< all of it leaves the caches before the next pass: what is not read here goes past them
  bool settles;  ///< the value is needed in the buffer, and would not be there
  bool measures;
  int count;
  Weigh weigh[Sets];
  G const* others[Sets];  ///< from the second on; the first is what is walked over
  square_sum squares{};

  KOKKOS_FUNCTION void operator()(std::int64_t i, G const& gradient) {
    for (std::int64_t part = 0; part < parts; ++part) {
      std::int64_t const at = parts * i + part;
      double sum = 0.0;
      double own[Carry::words]{};
      double const first = part_of(weigh[0](product(widen(gradient))), part);
      if (overwrites) {
        Carry::begin(sum, own, first);
      } else {
        if constexpr (!Carry::value_is_late) sum = static_cast<double>(to.sums[at]);
        to.load(at, own);
        Carry::add(sum, own, first);
      }
      for (int j = 1; j < Sets && j < count; ++j) {
        Carry::add(sum, own, part_of(weigh[j](product(widen(others[j][i]))), part));
      }
      to.store(at, own);
      if (Carry::value_is_late && !settles) continue;
      sum = Carry::value(sum, own);
      to.store_sum(at, sum);
      if constexpr (measurable) {
        if (measures) squares.add(sum);
      }
    }
  }

#if ACCRUE_HAS_LANES
  ACCRUE_ALWAYS_INLINE void by_lanes(std::int64_t i, G const* gradient) requires(
      lane_scalar<G>&& lane_scalar<B>&& weighs_lanes<Weigh, product>) {
    lanes<double> sum(0.0);
    lanes<double> own[Carry::words]{};
    lanes<double> const first = weigh[0](load_wide(gradient));
    if (overwrites) {
      Carry::begin(sum, own, first);
    } else {
      if constexpr (!Carry::value_is_late) sum = load_wide(to.sums + i);
      to.load(i, own);
      Carry::add(sum, own, first);
    }
    for (int j = 1; j < Sets && j < count; ++j) {
      lanes<double> const next = weigh[j](load_wide(others[j] + i));
      Carry::add(sum, own, next);
    }
    to.store(i, own, far && overwrites);
    if (Carry::value_is_late && !settles) return;
    sum = Carry::value(sum, own);
    to.store_sum(i, sum, far && (Carry::value_is_late ? measures : overwrites));
    if constexpr (measurable) {
      if (measures) squares.add(i, sum);
    }
  }
#endif

 private:
  template <class T>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static double part_of(T const& x, [[maybe_unused]] std::int64_t part) {
    if constexpr (is_complex_v<T>)
      return part == 0 ? x.real() : x.imag();
    else
      return x;
  }
};

/// Brings the values of sums, which are late, into the buffer.
template <class B, class Carry>
struct settle_element {
  sums_of_view<B, Carry> from;

  KOKKOS_FUNCTION void operator()(std::int64_t i, B&) const {
    constexpr std::int64_t parts = sums_of_view<B, Carry>::parts;
    for (std::int64_t at = parts * i; at < parts * (i + 1); ++at) {
      double own[Carry::words]{};
      from.load(at, own);
      from.store_sum(at, Carry::value(0.0, own));
    }
  }
#if ACCRUE_HAS_LANES
  ACCRUE_ALWAYS_INLINE void by_lanes(std::int64_t i, B*) const requires(lane_scalar<B>) {
    lanes<double> own[Carry::words]{};
    from.load(i, own);
    from.store_sum(i, Carry::value(lanes<double>(0.0), own), false);
  }
#endif
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_ADD_CARRIED_HPP
#define ACCRUE_PASSES_ADD_CARRIED_HPP

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
      if (measures) squares.add(sum);
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

/// Adds as `Addition` does, an `add_chunk`, beside what the summation carries; the products are those of its weighing.
///
/// Guarantee: the norm has the bits that a walk over the finished sums gives, whatever was added last.
template <class Addition, class Carry>
struct add_carried_chunk;

template <class G, class B, class Weigh, int Sets, class Carry>
struct add_carried_chunk<add_chunk<G, B, Weigh, Sets>, Carry> : add_chunk<G, B, Weigh, Sets> {
  using plain = add_chunk<G, B, Weigh, Sets>;
  using typename plain::known;

  carried_sums<Carry> carried;

  template <class Worker>
  KOKKOS_FUNCTION void operator()(known const& by, std::int64_t c, Worker worker) const {
    chunk const part = this->chunks[c];
    bool const left_out = this->rejects != nullptr && *this->rejects != 0;
    bool absent = true, together = true;
    int present = 0;
    int sets[Sets];
    for (int j = 0; j < this->count; ++j) {
      strided const& view = this->gradients[j][part.view];
      absent = absent && (left_out || view.scalar < 0);
      if (view.scalar != this->scalar || left_out) continue;
      sets[present++] = j;
      together = together && view.contiguous();
    }
    bool const asked = this->measured.asked();
    bool overwrites = this->is_first(part.view);
    norm_partial share;
    if (present > 0 && together) {
      share = add(by, part, sets, present, overwrites, asked, worker);
    } else if (present > 0) {  // one after the other while the chunk is in the cache
      for (int j = 0; j < present; ++j, overwrites = false)
        share = add(by, part, sets + j, 1, overwrites, asked && j + 1 == present, worker);
    } else if (asked && this->takes_absent && absent) {
      if (this->touched[part.view] != 0) share = settle(part, worker);
    } else {
      return;
    }
    if (asked) this->measured.put(c, share, worker);
  }

 private:
  [[nodiscard]] KOKKOS_FUNCTION strided const& sum(chunk const& part) const { return this->sums[part.view]; }

  template <class Worker>
  [[nodiscard]] KOKKOS_FUNCTION norm_partial settle(chunk const& part, Worker worker) const {
    if constexpr (Carry::value_is_late)
      walk<B>(sum(part), part, worker, settle_element<B, Carry>{{carried, sum(part), part.view}});
    return this->measured.template share<B>(sum(part), part, worker);
  }

  template <class Worker>
  [[nodiscard]] KOKKOS_FUNCTION norm_partial add(known const& by, chunk const& part, int const* sets, int present,
                                                 bool overwrites, bool measures, Worker worker) const {
    using visit_type = carried_element<G, B, typename plain::element_weigh, Sets, Carry>;
    strided const& view = this->gradients[sets[0]][part.view];
    // On devices the packets of gradients may be others than those of sums, and the bits of their squares with them.
    constexpr bool as_measured = visit_type::measurable && Worker::alone && visits_lanes<visit_type, G const>;
    bool const fused = as_measured && measures && this->measured.by_squares() && view.contiguous();
    bool const far = Worker::alone && this->streams;
    auto const visit = [&]<int... J>(std::integer_sequence<int, J...>) {
      return visit_type{{carried, sum(part), part.view},
                        overwrites,
                        far,
                        measures,
                        fused,
                        present,
                        {by.weigh[sets[J < present ? J : 0]]...},
                        {static_cast<G const*>(this->gradients[sets[J < present ? J : 0]][part.view].data)...}};
    }
    (std::make_integer_sequence<int, Sets>{});

    double const squares = walk<G const>(view, part, worker, visit).squares.total();
#if ACCRUE_HAS_LANES
    if (far && (overwrites || fused)) fence_streams();
#endif
    if (!measures) return {};
    if (!fused) return this->measured.template share<B>(sum(part), part, worker);
    return squares_hold<B>(squares) ? norm_partial{squares}
                                    : this->measured.template thorough_share<B>(sum(part), part, worker);
  }
};

/// Brings the values of the touched views into the buffer, and measures them as `measure_chunk` does.
template <class B, class Carry>
struct settle_chunk : measure_chunk<B> {
  carried_sums<Carry> carried;

  template <class Worker>
  KOKKOS_FUNCTION void operator()(typename measure_chunk<B>::nothing, std::int64_t c, Worker worker) const {
    chunk const part = this->chunks[c];
    strided const& sum = this->views[part.view];
    norm_partial share;
    if (this->touched[part.view] != 0) {
      walk<B>(sum, part, worker, settle_element<B, Carry>{{carried, sum, part.view}});
      share = this->measured.template share<B>(sum, part, worker);
    }
    this->measured.put(c, share, worker);
  }
};

/// The same pass, where the summation carries something; else what was given.
template <class Summation, class Block, class Addition>
[[nodiscard]] auto add_what_is_carried([[maybe_unused]] Block const& each, Addition const& plain) {
  if constexpr (carries_v<Summation>) {
    using carry = carry_of<Summation, typename Block::buffer_scalar>;
    return add_carried_chunk<Addition, carry>{plain, each.template carried<carry>()};
  } else {
    return plain;
  }
}
template <class Summation, class Block, class B>
[[nodiscard]] auto settle_what_is_late([[maybe_unused]] Block const& each, measure_chunk<B> const& plain) {
  if constexpr (value_is_late_v<Summation>) {
    using carry = carry_of<Summation, B>;
    return settle_chunk<B, carry>{plain, each.template carried<carry>()};
  } else {
    return plain;
  }
}

}  // namespace accrue
#endif

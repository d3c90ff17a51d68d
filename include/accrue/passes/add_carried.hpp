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

  /// Loads, or stores, what is carried of the number at `i`.
  KOKKOS_FORCEINLINE_FUNCTION void load(std::int64_t i, word (&own)[Carry::words]) const {
    for (int k = 0; k < Carry::words; ++k) own[k] = words[k * words_apart + i];
  }
  KOKKOS_FORCEINLINE_FUNCTION void store(std::int64_t i, word const (&own)[Carry::words]) const {
    for (int k = 0; k < Carry::words; ++k) words[k * words_apart + i] = own[k];
  }
#if ACCRUE_HAS_LANES
  ACCRUE_ALWAYS_INLINE void load(std::int64_t i, lanes<word> (&own)[Carry::words]) const {
    for (int k = 0; k < Carry::words; ++k) own[k] = load_lanes(words + k * words_apart + i);
  }
  ACCRUE_ALWAYS_INLINE void store(std::int64_t i, lanes<word> const (&own)[Carry::words], bool streams) const {
    for (int k = 0; k < Carry::words; ++k) put(own[k], words + k * words_apart + i, streams);
  }
  template <class Real>
  ACCRUE_ALWAYS_INLINE static void put(lanes<Real> const& x, Real* to, bool streams) {
    if (streams)
      stream_lanes(x, to);
    else
      store_lanes(x, to);
  }
#endif
};

/// Adds the weighed gradients of `count` sets to the sums and to what is carried beside them; the first of a group
/// begins both.
template <class G, class B, class Weigh, int Sets, class Carry>
struct carried_element {
  using product = product_scalar_of<Carry, B>;
  static constexpr std::int64_t parts = is_complex_v<B> ? 2 : 1;

  sums_of_view<B, Carry> to;
  bool overwrites;
  bool streams;  ///< see add_chunk
  bool settles;  ///< the value is needed in the buffer, and would not be there
  int count;
  Weigh weigh[Sets];
  G const* others[Sets];  ///< from the second on; the first is what is walked over

  KOKKOS_FUNCTION void operator()(std::int64_t i, G const& gradient) const {
    for (std::int64_t part = 0; part < parts; ++part) {
      std::int64_t const at = parts * i + part;
      real_t<B> sum{};
      typename Carry::word own[Carry::words];
      typename Carry::product const first = part_of(weigh[0](product(widen(gradient))), part);
      if (overwrites) {
        Carry::begin(sum, own, first);
      } else {
        if constexpr (!Carry::value_is_late) sum = to.sums[at];
        to.load(at, own);
        Carry::add(sum, own, first);
      }
      for (int j = 1; j < Sets && j < count; ++j) {
        typename Carry::product const next = part_of(weigh[j](product(widen(others[j][i]))), part);
        Carry::add(sum, own, next);
      }
      to.store(at, own);
      if (!Carry::value_is_late || settles) to.sums[at] = Carry::value(sum, own);
    }
  }

#if ACCRUE_HAS_LANES
  ACCRUE_ALWAYS_INLINE void by_lanes(std::int64_t i, G const* gradient) const
      requires(lane_scalar<G>&& lane_scalar<B>&& weighs_lanes<Weigh, product>) {
    lanes<B> sum(B{});
    lanes<typename Carry::word> own[Carry::words];
    lanes<product> const first = weigh[0](lanes_as<product>(load_lanes(gradient)));
    if (overwrites) {
      Carry::begin(sum, own, first);
    } else {
      if constexpr (!Carry::value_is_late) sum = load_lanes(to.sums + i);
      to.load(i, own);
      Carry::add(sum, own, first);
    }
    for (int j = 1; j < Sets && j < count; ++j) {
      lanes<product> const next = weigh[j](lanes_as<product>(load_lanes(others[j] + i)));
      Carry::add(sum, own, next);
    }
    to.store(i, own, streams);
    if (!Carry::value_is_late || settles) to.put(Carry::value(sum, own), to.sums + i, streams);
  }
#endif

 private:
  template <class T>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static auto part_of(T const& x, [[maybe_unused]] std::int64_t part) {
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
      typename Carry::word own[Carry::words];
      from.load(at, own);
      from.sums[at] = Carry::value(real_t<B>{}, own);
    }
  }
#if ACCRUE_HAS_LANES
  ACCRUE_ALWAYS_INLINE void by_lanes(std::int64_t i, B*) const requires(lane_scalar<B>) {
    lanes<typename Carry::word> own[Carry::words];
    from.load(i, own);
    from.put(Carry::value(lanes<B>(B{}), own), from.sums + i, false);
  }
#endif
};

/// Adds as `Addition` does, an `add_chunk`, beside what the summation carries; the products are those of its weighing.
///
/// The norm is measured over the finished sums, while they are in the cache: its bits are the same whatever was added
/// last.
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
    bool const measures = this->measured.asked();
    bool absent = true, together = true;
    int present = 0;
    int sets[Sets];
    for (int j = 0; j < this->count; ++j) {
      strided const& view = this->gradients[j][part.view];
      absent = absent && view.scalar < 0;
      if (view.scalar != this->scalar) continue;
      sets[present++] = j;
      together = together && view.contiguous();
    }
    bool overwrites = first_touch::all == this->first ||
                      (this->first == first_touch::some && this->touched[part.view] == 0);
    int const at_once = together ? present : 1;
    for (int j = 0; j < present; j += at_once) {  // sets that are not contiguous while the chunk is in the cache
      add(by, part, sets + j, at_once, overwrites, worker);
      overwrites = false;
    }
    if (present > 0) {
      if (measures) this->measured.put(c, this->measured.template share<B>(sum(part), part, worker), worker);
    } else if (measures && this->takes_absent && absent) {
      norm_partial share;
      if (this->touched[part.view] != 0) {
        if constexpr (Carry::value_is_late)
          walk<B>(sum(part), part, worker, settle_element<B, Carry>{{carried, sum(part), part.view}});
        share = this->measured.template share<B>(sum(part), part, worker);
      }
      this->measured.put(c, share, worker);
    }
  }

 private:
  [[nodiscard]] KOKKOS_FUNCTION strided const& sum(chunk const& part) const { return this->sums[part.view]; }

  template <class Worker>
  KOKKOS_FUNCTION void add(known const& by, chunk const& part, int const* sets, int present, bool overwrites,
                           Worker worker) const {
    bool const past_caches = Worker::alone && overwrites && this->streams;
    auto const visit = [&]<int... J>(std::integer_sequence<int, J...>) {
      return carried_element<G, B, typename plain::element_weigh, Sets, Carry>{
          {carried, sum(part), part.view},
          overwrites,
          past_caches,
          this->measured.asked(),
          present,
          {by.weigh[sets[J < present ? J : 0]]...},
          {static_cast<G const*>(this->gradients[sets[J < present ? J : 0]][part.view].data)...}};
    }
    (std::make_integer_sequence<int, Sets>{});
    walk<G const>(this->gradients[sets[0]][part.view], part, worker, visit);
#if ACCRUE_HAS_LANES
    if (past_caches) fence_streams();
#endif
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

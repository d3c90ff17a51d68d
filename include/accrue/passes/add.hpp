// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_ADD_HPP
#define ACCRUE_PASSES_ADD_HPP

#include <accrue/core/lane_memory.hpp>
#include <accrue/core/packets.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/passes/gradient_tables.hpp>
#include <accrue/passes/launch.hpp>
#include <accrue/passes/measure.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace accrue {

/// A weighing that takes lanes as it takes elements.
template <class Weigh, class B>
concept weighs_lanes = lane_scalar<B> && requires(Weigh const weigh, lanes<B> const& eight) {
  weigh(eight);
};

/// buffer = weighed gradients, or buffer = keep * buffer + weighed gradients, of `N` sets that are contiguous; and the
/// squares of the new sums where they are measured. What is the same for a whole chunk is a flag and no template
/// parameter: the processor foresees it, and each combination would be compiled again.
template <class G, class B, class Weigh, int N>
struct sum_element {
  static constexpr bool measurable = !is_complex_v<B>;
  static constexpr bool carries = measurable;
  static constexpr int packet_size = packet_size_of<G, B>;

  B* buffer;
  real_t<B> keep;
  bool overwrites;
  bool streams;  ///< overwritten sums are not read again soon, and too many for the caches
  bool measures;
  Weigh weigh[N];
  G const* others[N];  ///< from the second on; the first is what is walked over
  square_sum squares{};

  KOKKOS_FUNCTION void operator()(std::int64_t i, G const& gradient) {
    B sum = weigh[0](B(widen(gradient)));
    if (!overwrites) sum += buffer[i] * keep;
    for (int j = 1; j < N; ++j) sum += weigh[j](B(widen(others[j][i])));
    buffer[i] = sum;
    if constexpr (measurable) {
      if (measures) squares.add(sum);
    }
  }

  [[nodiscard]] KOKKOS_FUNCTION bool packets_at(std::int64_t i, G const* gradient) const {
    bool all = packets_begin_at<packet_size>(gradient, buffer + i);
    for (int j = 1; j < N; ++j) all = all && packets_begin_at<packet_size>(others[j] + i);
    return all;
  }
  /// Whether each device thread gets the squares of the elements that it would get in a pass over the sums alone.
  [[nodiscard]] KOKKOS_FUNCTION bool squares_as_alone(std::int64_t begin, G const* gradient) const {
    return packet_size == packet_size_of<B> && packets_at(begin, gradient + begin);
  }
  /// What the operator does, for a packet, on copies in registers.
  KOKKOS_FORCEINLINE_FUNCTION void by_packet(std::int64_t i, G const* gradient) {
    sum_element near = *this;
    packet<G, packet_size> sets[N];
    copy_packet<packet_size>(gradient, sets[0].at);
    for_packet<N - 1>([&](int j) {
      copy_packet<packet_size>(others[j + 1] + i, sets[j + 1].at);
      near.others[j + 1] = sets[j + 1].at;
    });
    packet<B, packet_size> sums{};
    near.buffer = sums.at;
    if (!overwrites) copy_packet<packet_size>(buffer + i, sums.at);
    for_packet<packet_size>([&](int k) { near(k, sets[0].at[k]); });
    copy_packet<packet_size>(sums.at, buffer + i);
    squares = near.squares;
  }

#if ACCRUE_HAS_LANES
  ACCRUE_ALWAYS_INLINE void by_lanes(std::int64_t i,
                                     G const* gradient) requires(lane_scalar<G>&& weighs_lanes<Weigh, B>) {
    if constexpr (N > 1) fetch_ahead(i, gradient);
    lanes<B> sum = weigh[0](lanes_as<B>(load_lanes(gradient)));
    if (!overwrites) sum += load_lanes(buffer + i) * keep;
    [&]<int... J>(std::integer_sequence<int, J...>) ACCRUE_ALWAYS_INLINE {
      ((sum += weigh[J + 1](lanes_as<B>(load_lanes(others[J + 1] + i)))), ...);
    }
    (std::make_integer_sequence<int, N - 1>{});
    if (streams)
      stream_lanes(sum, buffer + i);
    else
      store_lanes(sum, buffer + i);
    if (measures) squares.add(i, sum);
  }

 private:
  /// Asks for the sets a kilobyte ahead: the hardware follows fewer streams than there are.
  ACCRUE_ALWAYS_INLINE void fetch_ahead(std::int64_t i, G const* gradient) const {
    constexpr std::int64_t ahead = 1024 / static_cast<std::int64_t>(sizeof(G));
    __builtin_prefetch(gradient + ahead);
    for (int j = 1; j < N; ++j) __builtin_prefetch(others[j] + i + ahead);
  }
#endif
};

/// Adds `count` of at most `Sets` sets of gradients of scalar `G` to a buffer of `B`, and measures the new sums where
/// the last microbatch is among them.
///
/// `Weigh` is the accumulate stage's: `resolve()` reads what depends on device memory once per worker, then the result
/// maps a gradient element, or lanes of them, to what is added.
template <class G, class B, class Weigh, int Sets>
struct add_chunk {
  chunk const* chunks;
  strided const* gradients[Sets];
  Weigh weigh[Sets];
  std::int32_t count;
  strided const* sums;
  std::uint8_t const* touched;  ///< before these microbatches, or as a gate tells, see `first_touch`
  double const* keep;           ///< what the sums are multiplied by
  first_touch first;
  std::int32_t scalar;
  bool streams;       ///< overwritten sums go past the caches
  bool takes_absent;  ///< this launch also measures the views that these microbatches do not touch
  measuring measured;
  exit_gate gate;
  std::int32_t const* rejects = nullptr;  ///< on the device: not 0 where these microbatches are left out; may be null

  using element_weigh = std::remove_cvref_t<decltype(std::declval<Weigh const&>().resolve())>;
  struct known {
    element_weigh weigh[Sets];
  };
  [[nodiscard]] KOKKOS_FUNCTION known enter() const {
    return [&]<int... J>(std::integer_sequence<int, J...>) { return known{{weigh[J].resolve()...}}; }
    (std::make_integer_sequence<int, Sets>{});
  }

  template <class Worker>
  KOKKOS_FUNCTION void operator()(known const& by, std::int64_t c, Worker worker) const {
    chunk const part = chunks[c];
    here at{part, static_cast<B*>(sums[part.view].data), static_cast<real_t<B>>(keep[part.view]), is_first(part.view)};
    bool const left_out = rejects != nullptr && *rejects != 0;
    bool absent = true;
    int present = 0;
    int sets[Sets];
    for (int j = 0; j < count; ++j) {
      strided const& view = gradients[j][part.view];
      absent = absent && (left_out || view.scalar < 0);
      if (view.scalar == scalar && !left_out) sets[present++] = j;
    }
    if (present > 0) {
      norm_partial const share = add(by, at, sets, present, worker);
      if (measured.asked()) measured.put(c, share, worker);
    } else if (measured.asked() && takes_absent && absent) {
      norm_partial share;
      if (touched[part.view] != 0)
        share = times(measured.order, measured.share<B>(sums[part.view], part, worker), keep[part.view]);
      measured.put(c, share, worker);
    }
  }
  template <class Worker>
  KOKKOS_FUNCTION void leave(Worker worker) const {
    measured.total_up(worker);
  }
  /// Whether these microbatches are the first of the group that touch the view.
  [[nodiscard]] KOKKOS_FUNCTION bool is_first(std::int32_t view) const {
    return first == first_touch::all || (first == first_touch::some && touched[view] == 0) ||
           (first == first_touch::told && touched[view] == 2);
  }

 private:
  struct here {
    chunk part;
    B* buffer;
    real_t<B> keep;
    bool overwrites;
  };

  /// Contiguous sets together, others one after the other while the chunk is in the cache.
  template <class Worker>
  [[nodiscard]] KOKKOS_FUNCTION norm_partial add(known const& by, here at, int const* sets, int present,
                                                 Worker worker) const {
    if constexpr (Sets > 1) {
      bool together = true;
      for (int j = 0; j < present; ++j) together = together && gradients[sets[j]][at.part.view].contiguous();
      if (together) return add_together<Sets>(by, at, sets, present, worker);
    }
    for (int j = 0; j + 1 < present; ++j) {
      static_cast<void>(add_sets<1>(by, at, sets + j, false, worker));
      at.keep = 1;
      at.overwrites = false;
    }
    return add_sets<1>(by, at, sets + present - 1, measured.asked(), worker);
  }
  template <int N, class Worker>
  [[nodiscard]] KOKKOS_FUNCTION norm_partial add_together(known const& by, here const& at, int const* sets, int present,
                                                          Worker worker) const {
    if constexpr (N > 1) {
      if (present < N) return add_together<N - 1>(by, at, sets, present, worker);
    }
    return add_sets<N>(by, at, sets, measured.asked(), worker);
  }
  template <int N, class Worker>
  [[nodiscard]] KOKKOS_FUNCTION norm_partial add_sets(known const& by, here const& at, int const* sets, bool measures,
                                                      Worker worker) const {
    using visit_type = sum_element<G, B, element_weigh, N>;
    strided const& view = gradients[sets[0]][at.part.view];
    strided const& sum = sums[at.part.view];
    constexpr bool gains = sizeof(G) >= sizeof(float);  // 16-bit gradients are added slower so
    bool const past_caches = gains && Worker::alone && at.overwrites && streams;
    auto visit = [&]<int... J>(std::integer_sequence<int, J...>) {
      return visit_type{at.buffer,
                        at.keep,
                        at.overwrites,
                        past_caches,
                        false,
                        {by.weigh[sets[J]]...},
                        {static_cast<G const*>(gradients[sets[J]][at.part.view].data)...}};
    }
    (std::make_integer_sequence<int, N>{});

    bool const fused = visit_type::measurable && measures && measured.by_squares() && view.contiguous() &&
                       (Worker::alone || visit.squares_as_alone(at.part.begin, static_cast<G const*>(view.data)));
    visit.measures = fused;
    double const squares = walk<G const>(view, at.part, worker, visit).squares.total();
#if ACCRUE_HAS_LANES
    if (past_caches) fence_streams();
#endif
    if (!measures) return {};
    if (!fused) return measured.share<B>(sum, at.part, worker);
    return squares_hold<B>(squares) ? norm_partial{squares} : measured.thorough_share<B>(sum, at.part, worker);
  }
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_ADD_CARRIED_HPP
#define ACCRUE_PASSES_ADD_CARRIED_HPP

#include <accrue/core/carried.hpp>
#include <accrue/core/lane_memory.hpp>
#include <accrue/passes/add.hpp>
#include <accrue/passes/block.hpp>
#include <accrue/passes/carried_element.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <utility>

namespace accrue {

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
      // NOLINTBEGIN(bugprone-branch-clone): of one set only the first is there
      return visit_type{{carried, sum(part), part.view},
                        overwrites,
                        far,
                        measures,
                        fused,
                        present,
                        {by.weigh[sets[J < present ? J : 0]]...},
                        {static_cast<G const*>(this->gradients[sets[J < present ? J : 0]][part.view].data)...}};
      // NOLINTEND(bugprone-branch-clone)
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
      share = times(this->measured.order, this->measured.template share<B>(sum, part, worker),
                    this->factor == nullptr ? 1.0 : this->factor[part.view]);
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

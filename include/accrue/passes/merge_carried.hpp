// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_MERGE_CARRIED_HPP
#define ACCRUE_PASSES_MERGE_CARRIED_HPP

#include <accrue/passes/add_carried.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace accrue {

/// What a merge reads or writes of one of the two: its sums, what is carried beside them, and what is touched.
template <class Carry>
struct merged_side {
  strided const* sums;
  carried_sums<Carry> carried;
  std::uint8_t const* touched;
};

/// Adds the sums of scalar `B` that others have formed of the same parameters, with what is carried beside them.
template <class B, class Carry>
struct merge_chunk {
  chunk const* chunks;
  merged_side<Carry> own;
  merged_side<Carry> other;
  exit_gate gate{};

  struct nothing {};
  [[nodiscard]] KOKKOS_FUNCTION nothing enter() const { return {}; }

  struct element {
    sums_of_view<B, Carry> to;
    sums_of_view<B, Carry> from;
    bool overwrites;
    KOKKOS_FUNCTION void operator()(std::int64_t i, B&) const {
      constexpr std::int64_t parts = sums_of_view<B, Carry>::parts;
      for (std::int64_t at = parts * i; at < parts * (i + 1); ++at) {
        double sum = static_cast<double>(from.sums[at]);
        double words[Carry::words];
        from.load(at, words);
        if (!overwrites) {
          double before = static_cast<double>(to.sums[at]);
          double beside[Carry::words];
          to.load(at, beside);
          Carry::merge(before, beside, sum, words);
          to.store(at, beside);
          to.store_sum(at, before);
        } else {
          to.store(at, words);
          to.store_sum(at, sum);
        }
      }
    }
  };

  template <class Worker>
  KOKKOS_FUNCTION void operator()(nothing, std::int64_t c, Worker worker) const {
    chunk const part = chunks[c];
    if (other.touched[part.view] == 0) return;
    sums_of_view<B, Carry> const to{own.carried, own.sums[part.view], part.view};
    sums_of_view<B, Carry> const from{other.carried, other.sums[part.view], part.view};
    walk<B>(own.sums[part.view], part, worker, element{to, from, own.touched[part.view] == 0});
  }
  template <class Worker>
  KOKKOS_FUNCTION void leave(Worker) const {}
};

}  // namespace accrue
#endif

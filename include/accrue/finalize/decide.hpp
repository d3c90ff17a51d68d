// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_DECIDE_HPP
#define ACCRUE_FINALIZE_DECIDE_HPP

#include <accrue/core/decision.hpp>
#include <accrue/core/norm.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/core/slots.hpp>
#include <accrue/finalize/conditions.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string_view>

namespace accrue {

/// Settles one group: norm, finite check, clip factor, decision; and enters it in record and device totals.
///
/// Order: after the total of the partial norms; `settle` by every worker of the update pass, with the same answer,
/// `enter_record` once, by its last. Failure: a gradient that is not finite, or whose norm is not, or is after clipping
/// above the largest number of a buffer's scalar, is skipped and recorded with that norm.
template <class Clip, class Conditions = conditions<>>
struct decide {
  norm_partial const* total;
  norm_order order;
  double divisor;  ///< but for the loss scale, and for what a gate left out
  Clip clip;
  double largest;  ///< number that the scalar of every buffer can hold; no element is longer than the norm

  std::int64_t number;
  double const* device_loss;  ///< null where the losses were numbers on the host
  double host_loss;
  double loss_divisor;

  std::uint8_t const* touched;
  std::int64_t* updates_of_view;
  std::int64_t views;

  device_record* record;
  device_totals* totals;
  Conditions when{};

  [[nodiscard]] KOKKOS_FUNCTION decision settle() const {
    decision verdict = settle_alone();
    verdict.result = when.in_common(verdict.result);
    verdict.apply = verdict.result == outcome::applied ? 1 : 0;
    return verdict;
  }

  /// The same without a look at accumulators that close together with this one.
  [[nodiscard]] KOKKOS_FUNCTION decision settle_alone() const {
    if (when.emptied()) return {1.0, Kokkos::Experimental::quiet_NaN_v<double>, 1.0, 0, outcome::empty};
    double const by = when.of_accepted(divisor) * when.loss_scale();
    double const norm = norm_of(order, *total, by);
    bool const finite = total->non_finite == 0 && is_finite(norm);
    double const factor = finite ? clip.factor(norm) : 1.0;
    if (!(finite && norm * factor <= largest)) return {by, norm, 1.0, 0, outcome::skipped_non_finite};
    if (when.vetoes(norm, loss())) return {by, norm, factor, 0, outcome::vetoed};
    return {by, norm, factor, 1, outcome::applied};
  }

  template <class Worker>
  KOKKOS_FUNCTION void enter_record(Worker worker) const {
    decision const verdict = settle();
    bool const apply = verdict.apply != 0;
    worker.barrier();  // everybody has read the scale
    if (worker.rank() == 0) {
      enter(verdict);
      when.move_scale(verdict.result, when.overflows(verdict.result));
    }
    if (!apply) return;
    for (std::int64_t v = worker.rank(); v < views; v += worker.size()) updates_of_view[v] += touched[v] != 0 ? 1 : 0;
  }

  /// The group's loss, formed as its gradient is.
  [[nodiscard]] KOKKOS_FUNCTION double loss() const {
    return (host_loss + (device_loss != nullptr ? *device_loss : 0.0)) / when.of_accepted(loss_divisor);
  }

 private:
  KOKKOS_FUNCTION void enter(decision const& verdict) const {
    *record = {number,
               verdict.result,
               verdict.norm,
               verdict.clip_factor,
               loss(),
               when.loss_scale(),
               when.overflows(verdict.result) ? 1 : 0,
               -1.0,
               {},
               0.0,
               0.0};
    when.enter_accepted(*record, order);
    bool const apply = verdict.result == outcome::applied;
    bool const skipped = verdict.result == outcome::skipped_non_finite;
    bool const empty = verdict.result == outcome::empty;
    totals->applied += apply ? 1 : 0;
    totals->skipped += skipped ? 1 : 0;
    totals->vetoed += verdict.result == outcome::vetoed ? 1 : 0;
    totals->emptied += empty ? 1 : 0;
    if (skipped || empty)
      ++totals->consecutive_skips;
    else
      totals->consecutive_skips = 0;
  }
};

/// Leaves the verdict on one of several accumulators that close together where the others find it.
template <class Decide>
struct note_verdict {
  Decide decide;
  group_verdict* to;
  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    outcome const alone = decide.settle_alone().result;
    *to = {alone, decide.when.overflows(alone) ? 1 : 0};
  }
};

}  // namespace accrue
#endif

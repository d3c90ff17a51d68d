// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATE_LOOK_AT_MICROBATCH_HPP
#define ACCRUE_ACCUMULATE_LOOK_AT_MICROBATCH_HPP

#include <accrue/accumulate/gate.hpp>
#include <accrue/core/decision.hpp>
#include <accrue/core/facts.hpp>
#include <accrue/core/gate_state.hpp>
#include <accrue/core/norm.hpp>
#include <accrue/core/rejection.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/core/strided.hpp>

#include <Kokkos_Core.hpp>
#include <concepts>
#include <cstdint>

namespace accrue {

/// What a microbatch brings beside its gradient, as device code enters it.
struct microbatch_entry {
  std::int64_t number = 0;  ///< among all of the run, from 1
  std::int64_t group = 0;   ///< from 1
  bool first = true;        ///< in its group that is looked at
  bool touches = true;      ///< it brings a gradient of at least one view
  device_counts counts;
  std::int64_t exact_weight = 0;
  double weight = 0.0;  ///< where counts are no integers

  template <class Count>
  [[nodiscard]] static microbatch_entry of(microbatch_facts const& facts, Count count) {
    microbatch_entry entry;
    entry.counts = {1, facts.samples.value(), facts.tokens.value(), facts.ignored_tokens.value(),
                    facts.positions.value()};
    if constexpr (std::integral<Count>)
      entry.exact_weight = count;
    else
      entry.weight = count;
    return entry;
  }
};

/// Where rejections are noted.
struct rejection_notes {
  device_totals* totals = nullptr;
  device_rejection* ring = nullptr;
  std::int64_t size = 0;
};

/// Decides on one microbatch whose gradient was measured, and says of each view whether it has a sum now.
///
/// `touched` of a view becomes 2 where this microbatch is the first that touches it, 1 where others were before, and 0
/// where none did. One thread a view, which all come to the same answer; the first one enters it.
struct look_at_microbatch {
  norm_partial const* total;  ///< of the gradient as it was handed over
  norm_order order;
  microbatch_weight by;
  float const* loss_scale;  ///< null for 1
  double largest_norm;
  strided const* given;
  std::uint8_t* touched;
  microbatch_entry entry;
  gate_state* gate;
  rejection_notes notes;
  bool adds_own;  ///< the own gradient is added as it was measured

  KOKKOS_FUNCTION void operator()(std::int64_t view) const {
    double const norm = own_norm(by, order, *total, loss_scale);
    bool const finite = total->non_finite == 0 && is_finite(norm);
    bool const rejects = !(finite && norm <= largest_norm);
    std::uint8_t const before = !entry.first && touched[view] != 0 ? 1 : 0;
    bool const adds = !rejects && given[view].scalar >= 0;
    touched[view] = adds && before == 0 ? 2 : before;
    if (view == 0) enter(rejects, finite, norm);
  }

 private:
  KOKKOS_FUNCTION void enter(bool rejects, bool finite, double norm) const {
    if (entry.first) *gate = {};
    gate->rejects = rejects ? 1 : 0;
    if (!rejects) {
      ++gate->contributed;
      gate->touching += entry.touches ? 1 : 0;
      gate->exact_weight += entry.exact_weight;
      gate->weight += entry.weight;
      double const weight = static_cast<double>(entry.exact_weight) + entry.weight;
      if (adds_own && weight > 0.0) gate->own_squares += norm * norm, gate->inverse_weights += 1.0 / weight;
      return;
    }
    gate->rejected.add(entry.counts);
    gate->rejected_non_finite += finite ? 0 : 1;
    notes.totals->rejected.add(entry.counts);
    std::int64_t const number = ++notes.totals->rejections;
    auto const cause = finite                  ? rejection_cause::norm_too_large
                       : is_not_a_number(norm) ? rejection_cause::not_a_number
                                               : rejection_cause::infinite;
    notes.ring[number % notes.size] = {number, entry.number, entry.group, cause, norm};
  }
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_CONDITIONS_HPP
#define ACCRUE_FINALIZE_CONDITIONS_HPP

#include <accrue/core/decision.hpp>
#include <accrue/core/gate_state.hpp>
#include <accrue/core/group_finding.hpp>
#include <accrue/core/loss_scale_state.hpp>
#include <accrue/core/norm.hpp>
#include <accrue/finalize/loss_scale.hpp>
#include <accrue/finalize/veto.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace accrue {

/// Accumulators that may close together.
inline constexpr int most_together = 8;

/// The other accumulators that close with this one, as device code sees them.
struct companions {
  group_verdict const* verdicts[most_together - 1] = {};
  std::int32_t count = 0;
  bool changes_scale = true;  ///< the last one to close does
};

/// Takes the place of a veto on the host, whose answer is known by then: kernels cannot name the types of its closures.
struct answered_veto {
  static constexpr bool on_device = false;
  static constexpr bool on_host = true;
};

/// What a group's decision depends on beside norm and clip. By default on nothing, and then this is nothing but
/// constants: a gate that has rejected microbatches, a loss scale, a veto, other accumulators.
template <class LossScale = unscaled, class Veto = no_veto, bool Gated = false>
struct conditions {
  LossScale scaling{};
  Veto veto{};
  loss_scale_state* scale = nullptr;  ///< on the device
  gate_state const* gate = nullptr;   ///< on the device
  group_finding handed_over{};        ///< weight and counts, rejected ones included
  bool weighs = true;                 ///< the divisor is in proportion to the weight
  bool pads = false;                  ///< and to what it would be if as many microbatches had come as were asked for
  bool vetoed = false;                ///< by the host
  bool has_loss = false;
  companions together{};

  [[nodiscard]] KOKKOS_FUNCTION bool emptied() const {
    if constexpr (Gated)
      return gate->touching == 0;
    else
      return false;
  }

  /// A divisor as the host formed it from what was handed over, for what was let through.
  [[nodiscard]] KOKKOS_FUNCTION double of_accepted(double divisor) const {
    if constexpr (Gated) {
      if (!weighs || gate->rejected.microbatches == 0) return divisor;
      double const weight = gate->total_weight();
      if (divisor == handed_over.weight) return weight;
      double const held = static_cast<double>(handed_over.microbatches);
      double const share = pads ? held / (held - static_cast<double>(gate->rejected.microbatches)) : 1.0;
      return divisor * (weight / handed_over.weight) * share;
    } else {
      return divisor;
    }
  }

  [[nodiscard]] KOKKOS_FUNCTION double loss_scale() const {
    if constexpr (LossScale::scales)
      return static_cast<double>(scale->scale);
    else
      return 1.0;
  }

  /// Whether a finite update is not to be applied all the same.
  [[nodiscard]] KOKKOS_FUNCTION bool vetoes([[maybe_unused]] double norm, [[maybe_unused]] double loss) const {
    if constexpr (Veto::on_device) {
      return veto(found(norm, loss));
    } else {
      return Veto::on_host && vetoed;
    }
  }
  /// What is found, as a predicate sees it.
  [[nodiscard]] KOKKOS_FUNCTION group_finding found(double norm, double loss) const {
    group_finding finding = handed_over;
    finding.norm = norm;
    finding.loss = loss;
    if (!has_loss) finding.loss = Kokkos::Experimental::quiet_NaN_v<double>;
    if constexpr (Gated) {
      finding.weight = gate->total_weight();
      finding.microbatches -= gate->rejected.microbatches;
      finding.samples -= gate->rejected.samples;
      finding.tokens -= gate->rejected.tokens;
    }
    return finding;
  }

  /// Enters in a record what only the gate knows; norms of microbatches, where they compare with that of the group.
  KOKKOS_FUNCTION void enter_accepted([[maybe_unused]] device_record& record, [[maybe_unused]] norm_order order) const {
    if constexpr (Gated) {
      record.weight = gate->total_weight();
      record.rejected = gate->rejected;
      if (weighs && !pads && order.p == 2.0 && gate->inverse_weights > 0.0) {
        double const measured = static_cast<double>(gate->contributed);
        record.own_square = gate->own_squares / measured;
        record.own_weight = measured / gate->inverse_weights;
      }
    }
  }

  /// Whether the group is an overflow for a loss scale, whatever becomes of it.
  [[nodiscard]] KOKKOS_FUNCTION bool overflows(outcome result) const {
    bool overflow = result == outcome::skipped_non_finite;
    if constexpr (Gated) overflow = overflow || gate->rejected_non_finite > 0;
    return overflow;
  }

  /// One decision for all that close together: a group that is not finite or vetoed anywhere is applied nowhere.
  [[nodiscard]] KOKKOS_FUNCTION outcome in_common(outcome own) const {
    if (own == outcome::empty) return own;
    for (std::int32_t i = 0; i < together.count; ++i) {
      outcome const other = together.verdicts[i]->result;
      if (other == outcome::skipped_non_finite || (other == outcome::vetoed && own == outcome::applied)) own = other;
    }
    return own;
  }

  /// Moves the loss scale by what became of the group, or of all groups that closed together.
  KOKKOS_FUNCTION void move_scale([[maybe_unused]] outcome result, [[maybe_unused]] bool overflow) const {
    if constexpr (LossScale::scales) {
      if (!together.changes_scale) return;
      bool applied = result == outcome::applied, kept_back = result != outcome::applied && result != outcome::empty;
      for (std::int32_t i = 0; i < together.count; ++i) {
        outcome const other = together.verdicts[i]->result;
        overflow = overflow || together.verdicts[i]->overflows != 0;
        applied = applied || other == outcome::applied;
        kept_back = kept_back || other == outcome::skipped_non_finite || other == outcome::vetoed;
      }
      bool const clean = applied && !kept_back;
      if (clean || overflow) *scale = scaling.after(*scale, overflow);
    }
  }
};

}  // namespace accrue
#endif

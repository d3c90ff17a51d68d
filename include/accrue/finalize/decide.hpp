// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_DECIDE_HPP
#define ACCRUE_FINALIZE_DECIDE_HPP

#include <accrue/core/decision.hpp>
#include <accrue/core/norm.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/core/slots.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string_view>

namespace accrue {

/// Gradients arrive as they are, not multiplied by a loss scale. The default.
struct unscaled {
  using fills = slot::loss_scale;
  static constexpr std::string_view name = "unscaled";
  friend bool operator==(unscaled const&, unscaled const&) = default;
};

/// A group with NaN or Inf in its gradient changes nothing: no parameter, no optimizer state, no counter. The default.
struct skip_group {
  using fills = slot::non_finite;
  static constexpr std::string_view name = "skip_group";
  friend bool operator==(skip_group const&, skip_group const&) = default;
};

/// Settles one group: norm, finite check, clip factor, decision; and enters it in record and device totals.
///
/// Order: after the total of the partial norms; `settle` by every worker of the update pass, with the same answer,
/// `enter_record` once, by its last. Failure: a gradient that is not finite, or whose norm is not, or is after clipping
/// above the largest number of a buffer's scalar, is skipped and recorded with that norm.
template <class Clip>
struct decide {
  norm_partial const* total;
  norm_order order;
  double divisor;
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

  [[nodiscard]] KOKKOS_FUNCTION decision settle() const {
    double const norm = norm_of(order, *total, divisor);
    bool const finite = total->non_finite == 0 && is_finite(norm);
    double const factor = finite ? clip.factor(norm) : 1.0;
    bool const apply = finite && norm * factor <= largest;
    return {divisor, norm, apply ? factor : 1.0, apply ? 1 : 0};
  }

  template <class Worker>
  KOKKOS_FUNCTION void enter_record(Worker worker) const {
    decision const verdict = settle();
    bool const apply = verdict.apply != 0;
    if (worker.rank() == 0) {
      double const loss = host_loss + (device_loss != nullptr ? *device_loss : 0.0);
      *record = {number, apply ? outcome::applied : outcome::skipped_non_finite, verdict.norm, verdict.clip_factor,
                 loss / loss_divisor};
      totals->applied += apply ? 1 : 0;
      totals->skipped += apply ? 0 : 1;
      totals->consecutive_skips = apply ? 0 : totals->consecutive_skips + 1;
    }
    if (!apply) return;
    for (std::int64_t v = worker.rank(); v < views; v += worker.size()) updates_of_view[v] += touched[v] != 0 ? 1 : 0;
  }
};

}  // namespace accrue
#endif

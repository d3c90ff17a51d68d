// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_LOSS_SCALE_STATE_HPP
#define ACCRUE_CORE_LOSS_SCALE_STATE_HPP

#include <cstdint>
#include <limits>

namespace accrue {

/// The five numbers of a loss scale: what has to be saved so that a run goes on as if it had not been stopped.
struct loss_scale_state {
  float scale = 1.0F;                ///< what losses are multiplied by; a float, as losses are
  std::int64_t clean_groups = 0;     ///< since the last overflow or growth
  std::int64_t hysteresis_left = 1;  ///< the overflow that finds 1 here shrinks the scale
  std::int64_t overflows = 0;        ///< groups that overflowed, all of them
  std::int64_t stuck = 0;            ///< the last of them in a row that found no smaller scale to go to

  /// For a restart, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(scale, clean_groups, hysteresis_left, overflows, stuck);
  }
  /// Whether a loss scale can have come to this.
  [[nodiscard]] bool plausible() const {
    return scale > 0.0F && scale <= std::numeric_limits<float>::max() && clean_groups >= 0 && hysteresis_left >= 0 &&
           overflows >= 0 && stuck >= 0;
  }

  friend bool operator==(loss_scale_state const&, loss_scale_state const&) = default;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_LOSS_SCALE_STATE_HPP
#define ACCRUE_CORE_LOSS_SCALE_STATE_HPP

#include <cstdint>

namespace accrue {

/// The five numbers of a loss scale: what has to be saved so that a run goes on as if it had not been stopped.
struct loss_scale_state {
  float scale = 1.0F;                ///< what losses are multiplied by; a float, as losses are
  std::int64_t clean_groups = 0;     ///< since the last overflow or growth
  std::int64_t hysteresis_left = 1;  ///< the overflow that finds 1 here shrinks the scale
  std::int64_t overflows = 0;        ///< groups that overflowed, all of them
  std::int64_t stuck = 0;            ///< the last of them in a row that found no smaller scale to go to

  friend bool operator==(loss_scale_state const&, loss_scale_state const&) = default;
};

}  // namespace accrue
#endif

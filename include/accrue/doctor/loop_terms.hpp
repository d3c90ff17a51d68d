// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_LOOP_TERMS_HPP
#define ACCRUE_DOCTOR_LOOP_TERMS_HPP

#include <accrue/core/error.hpp>
#include <accrue/doctor/microbatch.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace accrue::doctor {

/// What a loop is meant to do with the microbatches of a group: their mean, unscaled, then clipped, is one gradient.
///
/// Mistakes show in numbers: let `microbatches`, `replicas` and `loss_scale` be three different ones above 1.
struct loop_terms {
  mean_over mean = mean_over::samples;
  std::int64_t microbatches = 3;                              ///< A, in a full group of one replica
  int replicas = 1;                                           ///< D
  double loss_scale = 1.0;                                    ///< S, that the loop multiplies losses by
  double max_norm = std::numeric_limits<double>::infinity();  ///< that the loop clips by
  bool takes_bound = false;  ///< the loop clips by `group::max_norm`, of which the examination chooses several
  double clip_epsilon = 0.0;
  double slack = 1.0;      ///< what tolerances are multiplied by
  std::uint64_t seed = 1;  ///< of the choice of examples

  void validate() const {
    if (microbatches < 1 || replicas < 1)
      throw error("accrue::doctor::loop_terms: no microbatches or no replicas", "there is no group",
                  "give 1 or more of each");
    if (!(loss_scale > 0.0) || !(max_norm > 0.0) || !(clip_epsilon >= 0.0) || !(slack > 0.0))
      throw error("accrue::doctor::loop_terms: a scale, bound or slack is not above 0", "nothing could be compared",
                  "give a positive loss_scale, max_norm and slack, and a clip_epsilon of at least 0");
  }
};

/// One group that a loop went through, and the gradient it ended with.
struct observed_group {
  std::vector<microbatch> microbatches;  ///< in their order, replica by replica, as many of each
  gradient handed_over;                  ///< what the update would receive
  double max_norm = std::numeric_limits<double>::infinity();
};

}  // namespace accrue::doctor
#endif

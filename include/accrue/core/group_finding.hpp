// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_GROUP_FINDING_HPP
#define ACCRUE_CORE_GROUP_FINDING_HPP

#include <cstdint>

namespace accrue {

/// What is known of a group before its update: what a veto looks at. Plain numbers, because device code reads them.
struct group_finding {
  double norm = 0.0;  ///< of the finalized gradient, before clipping
  double loss = 0.0;  ///< NaN unless every microbatch that weighs gave its loss
  double weight = 0.0;
  std::int64_t microbatches = 0;
  std::int64_t samples = 0;
  std::int64_t tokens = 0;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_REFUSAL_HPP
#define ACCRUE_PLAN_REFUSAL_HPP

#include <accrue/core/error.hpp>

#include <string_view>

namespace accrue::plan {

/// Why a plan has no number to give.
enum class refusal {
  empty_microbatch,     ///< 0 samples a microbatch
  empty_group,          ///< 0 microbatches a group
  no_replicas,          ///< 0 replicas
  no_length,            ///< 0 positions a sample
  no_ranks,             ///< a mesh with 0 ranks in the world or in a dimension
  no_target,            ///< a target of 0
  ranks_left_over,      ///< the replicas do not fill the world
  experts_left_over,    ///< the groups that share out experts do not fill the ranks of a pipeline stage
  off_target,           ///< no whole number of microbatches meets the target
  partial_group,        ///< the pass ends inside a group, and `last_group::refuse` was asked for
  never_reached,        ///< more updates than the data can ever give
  no_terms,             ///< a loss of no terms
  terms_not_combined,   ///< a division or summation that does not go with several terms
  smallest_microbatch,  ///< a microbatch of 1 sample was too much for the memory
  no_room,              ///< a microbatch of 1 sample exceeds the memory
  one_measurement,      ///< two measurements at the same microbatch, or that fall where it grows
  no_stage,             ///< a ramp without a beginning, or whose stages do not ascend
  no_number,            ///< a time, a rate or a number of bytes that is negative, infinite or NaN
  no_lengths,           ///< lengths of no samples
  more_than_data,       ///< a batch of more samples than there are, none drawn twice
  longer_than_row,      ///< a sample that exceeds the row that it is packed into
  too_large,            ///< a number exceeds 63 bits
};

/// The text of a refusal: the three parts that an `accrue::error` says.
struct explanation {
  std::string_view what;
  std::string_view why;
  std::string_view way_out;
};

/// What a refusal means, why it matters, and the way out.
[[nodiscard]] constexpr explanation explain(refusal reason) noexcept {
  switch (reason) {
    case refusal::empty_microbatch:
      return {"accrue::plan: a microbatch of 0 samples", "it would add nothing to its group", "give 1 sample or more"};
    case refusal::empty_group:
      return {"accrue::plan: a group of 0 microbatches", "it would never be full", "give 1 microbatch or more"};
    case refusal::no_replicas:
      return {"accrue::plan: 0 replicas", "nobody would see the data", "give 1 replica or more"};
    case refusal::no_length:
      return {"accrue::plan: samples of length 0", "they have no positions to learn from",
              "give a length of 1 or more"};
    case refusal::no_ranks:
      return {"accrue::plan: a mesh with a size of 0 ranks", "every dimension has at least one rank",
              "leave a dimension that is not split at 1"};
    case refusal::no_target:
      return {"accrue::plan: a target of 0", "such an update would learn from nothing", "give a target of 1 or more"};
    case refusal::ranks_left_over:
      return {"accrue::plan: the replicas do not fill the world", "some ranks would belong to no replica",
              "make the world a multiple of tensor x pipeline x context"};
    case refusal::experts_left_over:
      return {"accrue::plan: the groups that share out experts do not fill the world",
              "some ranks would have no experts", "make expert a divisor of world / (tensor x pipeline)"};
    case refusal::off_target:
      return {"accrue::plan: no whole number of microbatches meets the target", "the effective batch would be another",
              "take a neighbour, another microbatch size, or fewer samples in the last microbatch"};
    case refusal::partial_group:
      return {"accrue::plan: the pass ends inside a group", "last_group::refuse allows whole groups only",
              "keep, drop, carry or pad the last group, or change its size"};
    case refusal::never_reached:
      return {"accrue::plan: so many updates are never reached", "a pass over the data closes no group",
              "check the microbatches of a pass, the group and its last-group policy"};
    case refusal::no_terms:
      return {"accrue::plan: a loss of 0 terms", "there is nothing to sum", "a loss that is not split has 1"};
    case refusal::terms_not_combined:
      return {"accrue::plan: several terms beside such a division or summation", "no accumulator offers that",
              "take early division, or late division with widened sums"};
    case refusal::smallest_microbatch:
      return {"accrue::plan: a microbatch of 1 sample is the smallest", "there is nothing left to split",
              "checkpoint activations, shorten samples, or split the model"};
    case refusal::no_room:
      return {"accrue::plan: a microbatch of 1 sample exceeds the memory", "nothing smaller can be run",
              "checkpoint activations, shard state over replicas, or shorten samples"};
    case refusal::one_measurement:
      return {"accrue::plan: two measurements do not make a line", "they are of one microbatch, or fall where it grows",
              "measure two microbatches, the larger at least twice the smaller"};
    case refusal::no_stage:
      return {"accrue::plan: a ramp whose stages do not ascend from 0", "some counts would have no value, or two",
              "begin with a stage at 0, and give each a later count than the one before"};
    case refusal::no_number:
      return {"accrue::plan: a number that is negative, infinite or NaN", "no time or size is",
              "check what was measured"};
    case refusal::no_lengths:
      return {"accrue::plan: lengths of no samples", "nothing can be expected of it", "give 1 sample or more"};
    case refusal::more_than_data:
      return {"accrue::plan: a batch of more samples than there are", "none is drawn twice in a pass",
              "take a smaller batch, or samples drawn independently"};
    case refusal::longer_than_row:
      return {"accrue::plan: a sample that is longer than its row", "packing does not split samples",
              "take longer rows, or cut what is longer before"};
    case refusal::too_large:
      break;
  }
  return {"accrue::plan: a number exceeds 63 bits", "the exact number would be lost",
          "check the counts that are handed over"};
}

/// The error that `planned::value()` throws for a refusal.
[[nodiscard]] inline error as_error(refusal reason) {
  explanation const text = explain(reason);
  return error(text.what, text.why, text.way_out);
}

}  // namespace accrue::plan
#endif

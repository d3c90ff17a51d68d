// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_REPLICAS_OF_HPP
#define ACCRUE_PLAN_REPLICAS_OF_HPP

#include <accrue/plan/exact_product.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/units.hpp>

#include <cstdint>

namespace accrue::plan {

/// How the ranks of a run are arranged: tensor x pipeline x context of them share one replica, and `expert` ranks of a
/// pipeline stage, of one tensor rank each, share out the experts.
struct mesh {
  ranks world{1};
  ranks tensor{1};
  ranks pipeline{1};
  ranks context{1};
  ranks expert{1};

  friend bool operator==(mesh const&, mesh const&) = default;
};

/// The data-parallel replicas of a mesh: only these multiply the effective batch.
///
/// Guarantee: exact. Ranks that share out experts, parameters or optimizer state but read data of their own are
/// replicas. Failure: refuses `no_ranks`, `ranks_left_over`, `experts_left_over`, and a replica that is `too_large` to
/// count.
[[nodiscard]] constexpr planned<replicas> replicas_of(mesh const& run) noexcept {
  auto const& [world, tensor, pipeline, context, expert] = run;
  for (ranks size : {world, tensor, pipeline, context, expert}) {
    if (size == ranks{}) return refusal::no_ranks;
  }
  auto const share = exact_product<ranks>({tensor.value(), pipeline.value(), context.value()});
  if (!share) return *share.reason();
  std::int64_t const ranks_per_replica = share.value().value();
  if (world.value() % ranks_per_replica != 0) return refusal::ranks_left_over;
  std::int64_t const sharing_experts = world.value() / (tensor.value() * pipeline.value());
  if (sharing_experts % expert.value() != 0) return refusal::experts_left_over;
  return replicas{world.value() / ranks_per_replica};
}

/// The ranks that keep the same share of the experts: a gradient of an expert is summed over so many, one of the
/// other parameters over replicas x context.
///
/// Failure: as `replicas_of`. Source: the expert-data-parallel groups of Megatron-Core, where experts are split over
/// tensor ranks as other parameters are.
[[nodiscard]] constexpr planned<ranks> ranks_of_an_expert(mesh const& run) noexcept {
  auto const all = replicas_of(run);
  if (!all) return *all.reason();
  return ranks{run.world.value() / (run.tensor.value() * run.pipeline.value()) / run.expert.value()};
}

}  // namespace accrue::plan
#endif

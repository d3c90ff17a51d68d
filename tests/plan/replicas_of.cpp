// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/replicas_of.hpp>

#include <accrue/plan/effective_batch.hpp>
#include <accrue/plan/microbatches_for.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <ostream>
#include <type_traits>

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::positions;
using accrue::samples;
using plan::ranks;
using plan::refusal;
using plan::replicas;
using plan::replicas_of;

namespace {

// [snippet replicas_of]
constexpr plan::mesh mesh{.world = ranks{8}, .tensor = ranks{2}, .pipeline = ranks{2}};

static_assert(replicas_of(mesh).value() == replicas{2});  // 4 ranks share a replica
static_assert(plan::effective_batch(samples{2}, microbatches{4}, replicas_of(mesh).value()) == samples{16});
// [/snippet replicas_of]

static_assert(std::is_nothrow_invocable_v<decltype(replicas_of), plan::mesh>);

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("P-056 replicas: tensor, pipeline and context partners do not multiply the batch") {
  constexpr auto sharing = replicas_of(mesh).value();
  static_assert(sharing == replicas{2});
  static_assert(plan::effective_batch(samples{2}, microbatches{4}, sharing) == samples{16});
  static_assert(plan::positions_per_update(samples{2}, plan::length{8}, microbatches{4}, sharing) == positions{128});

  static_assert(replicas_of({.world = ranks{64}, .tensor = ranks{2}, .pipeline = ranks{4}, .context = ranks{8}}) ==
                replicas{1});
  static_assert(replicas_of({.world = ranks{64}, .context = ranks{8}}) == replicas{8});
}

TEST_CASE("P-056 replicas: on 2 nodes of 8 data-parallel devices a target of 128 takes 2 microbatches of 4") {
  constexpr auto all = replicas_of({.world = ranks{8} * 2});
  static_assert(all == replicas{16});
  static_assert(plan::microbatches_for(samples{128}, samples{4}, all.value()) == microbatches{2});
}

TEST_CASE("replicas: one rank is one replica") { static_assert(replicas_of({}) == replicas{1}); }

TEST_CASE("replicas: a mesh that does not fill the world is refused, never rounded") {
  static_assert(replicas_of({.world = ranks{8}, .tensor = ranks{3}}) == refusal::ranks_left_over);
  static_assert(replicas_of({.world = ranks{2}, .tensor = ranks{4}}) == refusal::ranks_left_over);
  static_assert(replicas_of({.world = ranks{most}, .tensor = ranks{most}, .pipeline = ranks{2}}) == refusal::too_large);
}

TEST_CASE("replicas: groups that share out experts read data of their own, and do not divide the batch") {
  // 64 ranks, 2 of tensor, 2 of pipeline: 16 replicas, 4 of which have the same experts.
  constexpr plan::mesh experts{.world = ranks{64}, .tensor = ranks{2}, .pipeline = ranks{2}, .expert = ranks{4}};
  static_assert(replicas_of(experts) == replicas{16});
  static_assert(plan::ranks_of_an_expert(experts) == ranks{4});
  static_assert(plan::ranks_of_an_expert({.world = ranks{64}, .context = ranks{2}, .expert = ranks{64}}) == ranks{1});
  static_assert(replicas_of({.world = ranks{64}, .tensor = ranks{2}, .expert = ranks{64}}) ==
                refusal::experts_left_over);
  static_assert(replicas_of({.world = ranks{64}, .expert = ranks{3}}) == refusal::experts_left_over);
  static_assert(plan::ranks_of_an_expert({.world = ranks{64}, .expert = ranks{3}}) == refusal::experts_left_over);
  static_assert(plan::ranks_of_an_expert({.world = ranks{}}) == refusal::no_ranks);
}

TEST_CASE("replicas: no size of a mesh is 0") {
  static_assert(replicas_of({.expert = ranks{}}) == refusal::no_ranks);
  static_assert(replicas_of({.world = ranks{}}) == refusal::no_ranks);
  static_assert(replicas_of({.tensor = ranks{}}) == refusal::no_ranks);
  static_assert(replicas_of({.pipeline = ranks{}}) == refusal::no_ranks);
  static_assert(replicas_of({.context = ranks{}}) == refusal::no_ranks);
}

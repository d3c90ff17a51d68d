// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/effective_batch.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <ostream>
#include <type_traits>

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::positions;
using accrue::samples;
using accrue::updates;
using plan::effective_batch;
using plan::length;
using plan::positions_per_update;
using plan::refusal;
using plan::replicas;

namespace {

// [snippet effective_batch]
static_assert(effective_batch(samples{8}, microbatches{4}, replicas{64}).value() == samples{2048});
static_assert(effective_batch(samples{8}, microbatches{4}).value() == samples{32});  // one replica
static_assert(effective_batch(samples{8}, microbatches{0}) == plan::refusal::empty_group);
// [/snippet effective_batch]

// [snippet positions_per_update]
static_assert(positions_per_update(samples{8}, length{4096}, microbatches{4}, replicas{64}) == positions{8'388'608});
// [/snippet positions_per_update]

static_assert(!std::is_invocable_v<decltype(effective_batch), samples, updates, replicas>);
static_assert(!std::is_invocable_v<decltype(effective_batch), microbatches, samples, replicas>);
static_assert(!std::is_invocable_v<decltype(effective_batch), int, int, int>);
static_assert(std::is_nothrow_invocable_v<decltype(effective_batch), samples, microbatches, replicas>);
static_assert(std::is_nothrow_invocable_v<decltype(positions_per_update), samples, length, microbatches, replicas>);

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("P-056 effective batch: m x A x D samples, and as many times the length in positions") {
  static_assert(effective_batch(samples{2}, microbatches{4}, replicas{2}) == samples{16});
  static_assert(positions_per_update(samples{2}, length{8}, microbatches{4}, replicas{2}) == positions{128});
  static_assert(effective_batch(samples{8}, microbatches{4}, replicas{64}) == samples{2048});
  static_assert(positions_per_update(samples{8}, length{4096}, microbatches{4}, replicas{64}) == positions{8'388'608});
  static_assert(positions_per_update(samples{8}, length{10}, microbatches{4}) == positions{320});
}

TEST_CASE("P-066 effective batch: totals go beyond 32 bits") {
  static_assert(effective_batch(samples{3072}, microbatches{1}).value() * 700'000 == samples{2'150'400'000});
  constexpr auto seen = positions_per_update(samples{8}, length{4096}, microbatches{4}, replicas{64});
  static_assert(seen.value() * 256 == positions{2'147'483'648});
}

TEST_CASE("effective batch: what is 0 is refused by its name") {
  static_assert(effective_batch(samples{}, microbatches{4}, replicas{2}) == refusal::empty_microbatch);
  static_assert(effective_batch(samples{2}, microbatches{}, replicas{2}) == refusal::empty_group);
  static_assert(effective_batch(samples{2}, microbatches{4}, replicas{}) == refusal::no_replicas);
  static_assert(positions_per_update(samples{2}, length{}, microbatches{4}) == refusal::no_length);
  static_assert(positions_per_update(samples{}, length{8}, microbatches{4}) == refusal::empty_microbatch);
}

TEST_CASE("effective batch: what does not fit into 63 bits is refused, not wrapped") {
  static_assert(effective_batch(samples{most}, microbatches{1}) == samples{most});
  static_assert(effective_batch(samples{most}, microbatches{1}, replicas{2}) == refusal::too_large);
  static_assert(positions_per_update(samples{most}, length{1}, microbatches{1}) == positions{most});
  static_assert(positions_per_update(samples{most}, length{2}, microbatches{1}) == refusal::too_large);
  CHECK_THROWS_AS((void)effective_batch(samples{most}, microbatches{2}).value(), accrue::error);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/elastic.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <ostream>

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::samples;
using plan::group_for_replicas;
using plan::neighbour;
using plan::replicas;

namespace {

// [snippet elastic]
static_assert(group_for_replicas(samples{1024}, samples{8}, replicas{16}) == neighbour{microbatches{8}, samples{1024}});
static_assert(!group_for_replicas(samples{1024}, samples{8}, replicas{15}));  // 960 or 1080
static_assert(group_for_replicas(samples{1024}, samples{8}, replicas{15}, {1, 16}) ==
              neighbour{microbatches{9}, samples{1080}});  // within a sixteenth
// [/snippet elastic]
static_assert(group_for_replicas(samples{1024}, samples{8}, replicas{15}, {1, 20}).reason()->why ==
              plan::refusal::off_target);
static_assert(group_for_replicas(samples{4}, samples{8}, replicas{1}, {1, 1}) ==
              neighbour{microbatches{1}, samples{8}});
static_assert(!group_for_replicas(samples{1024}, samples{8}, replicas{15}, {1, 0}));
static_assert(!group_for_replicas(samples{1024}, samples{8}, replicas{15}, {-1, 2}));
static_assert(group_for_replicas(samples{0}, samples{8}, replicas{15}).reason()->why == plan::refusal::no_target);

}  // namespace

TEST_CASE("plan: within a band the nearest group is taken, and it is in the band") {
  for (std::int64_t target = 1; target < 200; ++target)
    for (std::int64_t size = 1; size < 12; ++size)
      for (std::int64_t across = 1; across < 6; ++across) {
        auto const found = group_for_replicas(samples{target}, samples{size}, replicas{across}, {1, 8});
        if (!found) continue;
        std::int64_t const batch = found.value().effective_batch.value();
        REQUIRE(batch == size * across * found.value().count.value());
        std::int64_t const off = batch > target ? batch - target : target - batch;
        REQUIRE(off * 8 <= target);
        REQUIRE(2 * off <= size * across);
      }
}

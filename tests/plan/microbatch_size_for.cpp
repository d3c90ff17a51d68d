// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/microbatch_size_for.hpp>

#include <accrue/plan/effective_batch.hpp>
#include <accrue/plan/microbatches_for.hpp>
#include <accrue/plan/replicas_for.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <ostream>

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::samples;
using plan::microbatch_size_for;
using plan::neighbour;
using plan::refusal;
using plan::replicas;
using plan::replicas_for;

namespace {

// [snippet microbatch_size_for]
static_assert(microbatch_size_for(samples{2048}, microbatches{4}, replicas{64}) == samples{8});

constexpr auto missed = *microbatch_size_for(samples{100}, microbatches{8}).reason();
static_assert(missed.below == neighbour{samples{12}, samples{96}});
static_assert(missed.above == neighbour{samples{13}, samples{104}});
// [/snippet microbatch_size_for]

// [snippet replicas_for]
static_assert(replicas_for(samples{2048}, samples{8}, microbatches{4}) == replicas{64});

constexpr auto between = *replicas_for(samples{100}, samples{8}, microbatches{3}).reason();
static_assert(between.below == neighbour{replicas{4}, samples{96}});
static_assert(between.above == neighbour{replicas{5}, samples{120}});
// [/snippet replicas_for]

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
static_assert(microbatch_size_for(samples{}, microbatches{1}).reason()->why == refusal::no_target);
static_assert(microbatch_size_for(samples{1}, microbatches{}).reason()->why == refusal::empty_group);
static_assert(microbatch_size_for(samples{1}, microbatches{1}, replicas{}).reason()->why == refusal::no_replicas);
static_assert(microbatch_size_for(samples{1}, microbatches{most}, replicas{2}).reason()->why == refusal::too_large);
static_assert(replicas_for(samples{}, samples{1}, microbatches{1}).reason()->why == refusal::no_target);
static_assert(replicas_for(samples{1}, samples{}, microbatches{1}).reason()->why == refusal::empty_microbatch);
static_assert(replicas_for(samples{1}, samples{1}, microbatches{}).reason()->why == refusal::empty_group);
static_assert(replicas_for(samples{1}, samples{2}, microbatches{most}).reason()->why == refusal::too_large);

// Every row of the table m x A x D up to 6: each number is found again from the other two and the batch, and a batch
// that is one more is met by none where it is no multiple.
constexpr bool every_unknown_is_found() {
  for (std::int64_t m = 1; m <= 6; ++m)
    for (std::int64_t a = 1; a <= 6; ++a)
      for (std::int64_t d = 1; d <= 6; ++d) {
        samples const batch{m * a * d}, more{m * a * d + 1};
        if (plan::effective_batch(samples{m}, microbatches{a}, replicas{d}) != batch) return false;
        if (plan::microbatches_for(batch, samples{m}, replicas{d}) != microbatches{a}) return false;
        if (microbatch_size_for(batch, microbatches{a}, replicas{d}) != samples{m}) return false;
        if (replicas_for(batch, samples{m}, microbatches{a}) != replicas{d}) return false;
        if (static_cast<bool>(microbatch_size_for(more, microbatches{a}, replicas{d})) != (a * d == 1)) return false;
        if (static_cast<bool>(replicas_for(more, samples{m}, microbatches{a})) != (m * a == 1)) return false;
      }
  return true;
}
static_assert(every_unknown_is_found());

}  // namespace

TEST_CASE("plan: whatever is unknown, its neighbours are named with their true batches") {
  CHECK_THROWS_WITH_AS((void)microbatch_size_for(samples{100}, microbatches{8}).value(),
                       "accrue::plan: no whole number of samples meets the target of 100 samples; "
                       "microbatches of 12 give 96, microbatches of 13 give 104; "
                       "take a neighbour, another microbatch size, or fewer samples in the last microbatch",
                       accrue::error);
  CHECK_THROWS_WITH_AS((void)replicas_for(samples{100}, samples{8}, microbatches{3}).value(),
                       "accrue::plan: no whole number of replicas meets the target of 100 samples; "
                       "4 replicas give 96, 5 replicas give 120; "
                       "take a neighbour, another microbatch size, or fewer samples in the last microbatch",
                       accrue::error);
}

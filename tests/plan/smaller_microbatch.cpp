// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/smaller_microbatch.hpp>

#include <accrue/plan/effective_batch.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <ostream>

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::samples;
using plan::cut_group;
using plan::refusal;
using plan::replicas;
using plan::smaller_microbatch;
using plan::smaller_uneven_microbatch;
using plan::uneven_group;

namespace {

// P-064 and its first part: A = 1, 2, 4 with 32 samples each.
// [snippet smaller_microbatch]
static_assert(uneven_group(samples{32}, samples{32}) == cut_group{samples{32}, microbatches{1}, samples{32}});
static_assert(smaller_microbatch(samples{32}, samples{32}) == cut_group{samples{16}, microbatches{2}, samples{16}});
static_assert(smaller_microbatch(samples{32}, samples{16}) == cut_group{samples{8}, microbatches{4}, samples{8}});
static_assert(uneven_group(samples{32}, samples{12}) == cut_group{samples{12}, microbatches{3}, samples{8}});
static_assert(smaller_uneven_microbatch(samples{31}, samples{16}) ==
              cut_group{samples{11}, microbatches{3}, samples{9}});
// [/snippet smaller_microbatch]
static_assert(smaller_microbatch(samples{32}, samples{12}) == cut_group{samples{8}, microbatches{4}, samples{8}});
static_assert(smaller_microbatch(samples{31}, samples{31}) == cut_group{samples{1}, microbatches{31}, samples{1}});
static_assert(smaller_microbatch(samples{64}, samples{100}, replicas{4}) ==
              cut_group{samples{8}, microbatches{2}, samples{8}});
static_assert(smaller_microbatch(samples{32}, samples{1}).reason() == refusal::smallest_microbatch);
static_assert(smaller_microbatch(samples{2}, samples{8}, replicas{2}).reason() == refusal::smallest_microbatch);
static_assert(smaller_uneven_microbatch(samples{31}, samples{1}).reason() == refusal::smallest_microbatch);
static_assert(smaller_uneven_microbatch(samples{33}, samples{8}, replicas{2}).reason() == refusal::off_target);
static_assert(uneven_group(samples{33}, samples{8}, replicas{2}).reason() == refusal::off_target);
static_assert(uneven_group(samples{0}, samples{8}).reason() == refusal::no_target);
static_assert(uneven_group(samples{8}, samples{0}).reason() == refusal::empty_microbatch);
static_assert(uneven_group(samples{8}, samples{8}, replicas{0}).reason() == refusal::no_replicas);

}  // namespace

TEST_CASE("P-064 plan: a smaller microbatch is the largest that divides, and the batch stays what it was") {
  for (std::int64_t across = 1; across <= 4; ++across)
    for (std::int64_t own = 1; own <= 60; ++own)
      for (std::int64_t size = 1; size <= 70; ++size) {
        samples const target{own * across};
        auto const uneven = uneven_group(target, samples{size}, replicas{across}).value();
        std::int64_t const m = uneven.microbatch.value(), a = uneven.group.value(), last = uneven.last.value();
        REQUIRE((a - 1) * m + last == own);
        REQUIRE((last >= 1 && last <= m && m <= size));
        auto const more = smaller_uneven_microbatch(target, samples{size}, replicas{across});
        REQUIRE(static_cast<bool>(more) == (m > 1));
        if (more) {
          std::int64_t const each = more.value().microbatch.value(), rest = more.value().last.value();
          REQUIRE((each < m && rest >= 1 && rest <= each && more.value().group.value() >= a));
          REQUIRE((more.value().group.value() - 1) * each + rest == own);
          REQUIRE((each == m - 1 || (a + 1) * (each - 1) < own));
        }
        auto const smaller = smaller_microbatch(target, samples{size}, replicas{across});
        std::int64_t expected = 0;
        for (std::int64_t candidate = 1; candidate < m; ++candidate)
          if (own % candidate == 0) expected = candidate;
        REQUIRE(static_cast<bool>(smaller) == (expected > 0));
        if (!smaller) continue;
        REQUIRE(smaller.value().microbatch == samples{expected});
        REQUIRE(plan::effective_batch(smaller.value().microbatch, smaller.value().group, replicas{across}).value() ==
                target);
      }
}

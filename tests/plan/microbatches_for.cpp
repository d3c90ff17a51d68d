// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/microbatches_for.hpp>

#include <accrue/plan/effective_batch.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::samples;
using plan::microbatches_for;
using plan::neighbour;
using plan::refusal;
using plan::replicas;

namespace {

// [snippet microbatches_for]
static_assert(microbatches_for(samples{32}, samples{16}) == microbatches{2});
static_assert(microbatches_for(samples{32}, samples{8}) == microbatches{4});  // half the memory, the same update

constexpr auto missed = *microbatches_for(samples{128}, samples{4}, replicas{3}).reason();
static_assert(missed.why == plan::refusal::off_target);
static_assert(missed.below == neighbour{.group = microbatches{10}, .effective_batch = samples{120}});
static_assert(missed.above == neighbour{.group = microbatches{11}, .effective_batch = samples{132}});
// [/snippet microbatches_for]

constexpr bool is_right(std::int64_t target, std::int64_t size, std::int64_t across) {
  auto const batch_of = [&](microbatches group) {
    return plan::effective_batch(samples{size}, group, replicas{across}).value();
  };
  auto const answer = microbatches_for(samples{target}, samples{size}, replicas{across});
  if (answer) return batch_of(answer.value()) == samples{target};

  auto const [why, wanted, below, above] = *answer.reason();
  if (why != refusal::off_target || wanted != samples{target} || !above) return false;
  if (batch_of(above->group) != above->effective_batch || above->effective_batch <= wanted) return false;
  if (!below) return above->group == microbatches{1};
  return below->group + microbatches{1} == above->group && below->effective_batch < wanted &&
         batch_of(below->group) == below->effective_batch;
}

static_assert(std::is_nothrow_invocable_v<decltype(microbatches_for), samples, samples, replicas>);

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("P-062 microbatches for a target: what is not divisible is refused with both neighbours") {
  CHECK(missed.target == samples{128});
  CHECK_THROWS_WITH_AS((void)microbatches_for(samples{128}, samples{4}, replicas{3}).value(),
                       "accrue::plan: no whole number of microbatches meets the target of 128 samples; "
                       "a group of 10 gives 120, a group of 11 gives 132; "
                       "take a neighbour, another microbatch size, or fewer samples in the last microbatch",
                       accrue::error);
}

TEST_CASE("P-063 microbatches for a target: never 0") {
  auto const small = *microbatches_for(samples{4}, samples{8}).reason();
  CHECK(small.why == refusal::off_target);
  CHECK(!small.below);
  CHECK(small.above == neighbour{microbatches{1}, samples{8}});

  auto const spread = *microbatches_for(samples{8}, samples{1}, replicas{16}).reason();
  CHECK(!spread.below);
  CHECK(spread.above == neighbour{microbatches{1}, samples{16}});
  std::string const text = plan::as_error(spread).what();
  CHECK(text.find("; a group of 1 gives 16; ") != std::string::npos);
}

TEST_CASE("P-064 microbatches for a target: the group grows as the microbatch shrinks") {
  CHECK(microbatches_for(samples{32}, samples{32}) == microbatches{1});
  CHECK(microbatches_for(samples{32}, samples{16}) == microbatches{2});
  CHECK(microbatches_for(samples{32}, samples{8}) == microbatches{4});

  auto const uneven = *microbatches_for(samples{32}, samples{12}).reason();
  CHECK(uneven.below == neighbour{microbatches{2}, samples{24}});
  CHECK(uneven.above == neighbour{microbatches{3}, samples{36}});
}

TEST_CASE("microbatches for a target: the answer meets it, the neighbours enclose it") {
  for (std::int64_t target = 1; target <= 60; ++target) {
    for (std::int64_t size = 1; size <= 9; ++size) {
      for (std::int64_t across = 1; across <= 4; ++across) {
        CAPTURE(target);
        CAPTURE(size);
        CAPTURE(across);
        CHECK(is_right(target, size, across));
      }
    }
  }
}

TEST_CASE("microbatches for a target: swapped arguments are refused, for a target is no smaller than a microbatch") {
  CHECK(microbatches_for(samples{128}, samples{4}) == microbatches{32});
  CHECK(microbatches_for(samples{4}, samples{128}).reason()->why == refusal::off_target);
}

TEST_CASE("microbatches for a target: what is 0 is refused by its name, without neighbours") {
  auto const why = [](auto const& answer) { return answer.reason()->why; };
  CHECK(why(microbatches_for(samples{}, samples{4})) == refusal::no_target);
  CHECK(why(microbatches_for(samples{4}, samples{})) == refusal::empty_microbatch);
  CHECK(why(microbatches_for(samples{4}, samples{4}, replicas{})) == refusal::no_replicas);

  auto const empty = microbatches_for(samples{4}, samples{});
  CHECK(!empty.reason()->below);
  CHECK(!empty.reason()->above);
  CHECK_THROWS_WITH_AS((void)empty.value(), plan::as_error(refusal::empty_microbatch).what(), accrue::error);
}

TEST_CASE("microbatches for a target: large numbers are exact or refused") {
  CHECK(microbatches_for(samples{most}, samples{1}) == microbatches{most});
  CHECK(microbatches_for(samples{most}, samples{most}, replicas{2}).reason()->why == refusal::too_large);

  auto const at_the_edge = *microbatches_for(samples{most}, samples{2}).reason();
  CHECK(at_the_edge.below == neighbour{microbatches{most / 2}, samples{most - 1}});
  CHECK(!at_the_edge.above);  // its batch would be 2^63
}

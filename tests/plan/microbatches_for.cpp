// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/microbatches_for.hpp>

#include <accrue/plan/effective_batch.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <string>

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
static_assert(missed.below == neighbour{microbatches{10}, samples{120}});
static_assert(missed.above == neighbour{microbatches{11}, samples{132}});
// [/snippet microbatches_for]

constexpr bool is_right(std::int64_t target, std::int64_t size, std::int64_t across) {
  auto const batch_of = [&](microbatches group) {
    return plan::effective_batch(samples{size}, group, replicas{across}).value();
  };
  auto const answer = microbatches_for(samples{target}, samples{size}, replicas{across});
  if (answer) return batch_of(answer.value()) == samples{target};

  auto const [why, wanted, below, above] = *answer.reason();
  if (why != refusal::off_target || wanted != samples{target} || !above) return false;
  if (batch_of(above->count) != above->effective_batch || above->effective_batch <= wanted) return false;
  if (!below) return above->count == microbatches{1};
  return below->count + microbatches{1} == above->count && below->effective_batch < wanted &&
         batch_of(below->count) == below->effective_batch;
}

static_assert(noexcept(microbatches_for(samples{}, samples{}, replicas{})));

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("P-062 microbatches for a target: what is not divisible is refused with both neighbours") {
  static_assert(missed.target == samples{128});
  CHECK_THROWS_WITH_AS((void)microbatches_for(samples{128}, samples{4}, replicas{3}).value(),
                       "accrue::plan: no whole number of microbatches meets the target of 128 samples; "
                       "a group of 10 gives 120, a group of 11 gives 132; "
                       "take a neighbour, another microbatch size, or fewer samples in the last microbatch",
                       accrue::error);
}

TEST_CASE("P-063 microbatches for a target: never 0") {
  constexpr auto small = *microbatches_for(samples{4}, samples{8}).reason();
  static_assert(small.why == refusal::off_target);
  static_assert(!small.below);
  static_assert(small.above == neighbour{microbatches{1}, samples{8}});

  constexpr auto spread = *microbatches_for(samples{8}, samples{1}, replicas{16}).reason();
  static_assert(!spread.below);
  static_assert(spread.above == neighbour{microbatches{1}, samples{16}});
  std::string const text = plan::as_error(spread).what();
  CHECK(text.find("; a group of 1 gives 16; ") != std::string::npos);
}

TEST_CASE("P-064 microbatches for a target: the group grows as the microbatch shrinks") {
  static_assert(microbatches_for(samples{32}, samples{32}) == microbatches{1});
  static_assert(microbatches_for(samples{32}, samples{16}) == microbatches{2});
  static_assert(microbatches_for(samples{32}, samples{8}) == microbatches{4});

  constexpr auto uneven = *microbatches_for(samples{32}, samples{12}).reason();
  static_assert(uneven.below == neighbour{microbatches{2}, samples{24}});
  static_assert(uneven.above == neighbour{microbatches{3}, samples{36}});
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
  static_assert(microbatches_for(samples{128}, samples{4}) == microbatches{32});
  static_assert(microbatches_for(samples{4}, samples{128}).reason()->why == refusal::off_target);
}

TEST_CASE("microbatches for a target: what is 0 is refused by its name, without neighbours") {
  constexpr auto why = [](auto const& answer) { return answer.reason()->why; };
  static_assert(why(microbatches_for(samples{}, samples{4})) == refusal::no_target);
  static_assert(why(microbatches_for(samples{4}, samples{})) == refusal::empty_microbatch);
  static_assert(why(microbatches_for(samples{4}, samples{4}, replicas{})) == refusal::no_replicas);

  constexpr auto empty = microbatches_for(samples{4}, samples{});
  static_assert(!empty.reason()->below);
  static_assert(!empty.reason()->above);
  CHECK_THROWS_WITH_AS((void)empty.value(), plan::as_error(refusal::empty_microbatch).what(), accrue::error);
}

TEST_CASE("microbatches for a target: large numbers are exact or refused") {
  static_assert(microbatches_for(samples{most}, samples{1}) == microbatches{most});
  static_assert(microbatches_for(samples{most}, samples{most}, replicas{2}).reason()->why == refusal::too_large);

  constexpr auto at_the_edge = *microbatches_for(samples{most}, samples{2}).reason();
  static_assert(at_the_edge.below == neighbour{microbatches{most / 2}, samples{most - 1}});
  static_assert(!at_the_edge.above);  // its batch would be 2^63
}

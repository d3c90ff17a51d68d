// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/batch_target.hpp>
#include <accrue/plan/effective_batch.hpp>
#include <accrue/plan/microbatch_size_for.hpp>
#include <accrue/plan/microbatches_for.hpp>
#include <accrue/plan/replicas_for.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <ostream>

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::positions;
using accrue::samples;
using accrue::tokens;
using plan::batch_target;
using plan::length;
using plan::microbatches_for;
using plan::neighbour;
using plan::refusal;
using plan::replicas;

namespace {

// [snippet batch_target]
constexpr batch_target million(positions{1'048'576}, length{4096});
static_assert(microbatches_for(million, samples{8}, replicas{4}) == microbatches{8});
static_assert(plan::microbatch_size_for(million, microbatches{16}, replicas{4}) == samples{4});
static_assert(plan::replicas_for(million, samples{8}, microbatches{8}) == replicas{4});
static_assert(microbatches_for(million, samples{12}).reason()->below == neighbour{microbatches{21}, samples{252}});

constexpr batch_target supervised(tokens{50'000}, tokens{781'250}, samples{1000});  // 781.25 of each, as measured
static_assert(microbatches_for(supervised, samples{8}) == microbatches{8});
// [/snippet batch_target]

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// Against `positions_per_update`, which knows nothing of targets.
constexpr bool is_right(std::int64_t target, std::int64_t size, std::int64_t across, std::int64_t sequence) {
  auto const has = [&](microbatches group) {
    return plan::positions_per_update(samples{size}, length{sequence}, group, replicas{across}).value();
  };
  auto const answer =
      microbatches_for(batch_target(positions{target}, length{sequence}), samples{size}, replicas{across});
  if (answer) return has(answer.value()) == positions{target};
  auto const [why, wanted, below, above] = *answer.reason();
  if (why != refusal::off_target || wanted != positions{target} || !above) return false;
  if (has(above->count) <= wanted || (below && has(below->count) >= wanted)) return false;
  if (above->effective_batch != plan::effective_batch(samples{size}, above->count, replicas{across})) return false;
  return below ? below->count + microbatches{1} == above->count &&
                     below->effective_batch == plan::effective_batch(samples{size}, below->count, replicas{across})
               : above->count == microbatches{1};
}

}  // namespace

TEST_CASE("a target in positions is met exactly, or lies between the two neighbours") {
  for (std::int64_t target = 1; target <= 90; ++target)
    for (std::int64_t size = 1; size <= 4; ++size)
      for (std::int64_t across = 1; across <= 3; ++across)
        for (std::int64_t sequence = 1; sequence <= 5; ++sequence) {
          CAPTURE(target);
          CAPTURE(size);
          CAPTURE(across);
          CAPTURE(sequence);
          CHECK(is_right(target, size, across, sequence));
        }
}

TEST_CASE("a missed target in positions or tokens names its unit, and the neighbours in samples") {
  CHECK_THROWS_WITH_AS((void)microbatches_for(batch_target(positions{1000}, length{30}), samples{4}).value(),
                       "accrue::plan: no whole number of microbatches meets the target of 1000 positions; "
                       "a group of 8 gives 32 samples, a group of 9 gives 36 samples; "
                       "take a neighbour, another microbatch size, or fewer samples in the last microbatch",
                       accrue::error);
  constexpr auto missed =
      *plan::replicas_for(batch_target(tokens{100}, tokens{7}, samples{2}), samples{4}, microbatches{2}).reason();
  static_assert(missed.target == tokens{100});
  static_assert(missed.below == neighbour{replicas{3}, samples{24}});  // 84 tokens
  static_assert(missed.above == neighbour{replicas{4}, samples{32}});  // 112
}

TEST_CASE("an average is the fraction that it is: what a rounded one would miss is met") {
  // 1/3 of a token a sample: 3 samples have 1.
  static_assert(microbatches_for(batch_target(tokens{5}, tokens{1}, samples{3}), samples{3}) == microbatches{5});
  static_assert(microbatches_for(batch_target(tokens{5}, tokens{2}, samples{6}), samples{3}) == microbatches{5});
  static_assert(batch_target(tokens{5}, tokens{2}, samples{6}).in_samples() == samples{15});
  static_assert(batch_target(tokens{5}, tokens{2}, samples{3}).in_samples().reason() == refusal::off_target);  // 7.5
  static_assert(batch_target(positions{8}, length{4}).in_samples() == samples{2});
  static_assert(batch_target(samples{8}).in_samples() == samples{8});
}

TEST_CASE("a target of nothing, or of samples that have nothing of it, is refused by its name") {
  constexpr auto why = [](auto const& target) { return microbatches_for(target, samples{1}).reason()->why; };
  static_assert(why(batch_target(positions{}, length{4})) == refusal::no_target);
  static_assert(why(batch_target(positions{4}, length{})) == refusal::no_length);
  static_assert(why(batch_target(tokens{4}, tokens{4}, samples{})) == refusal::no_lengths);
  static_assert(why(batch_target(tokens{4}, tokens{}, samples{4})) == refusal::no_length);
  static_assert(batch_target(tokens{4}, tokens{}, samples{}).in_samples().reason() == refusal::no_lengths);
}

TEST_CASE("large targets are exact or refused") {
  static_assert(microbatches_for(batch_target(positions{most}, length{1}), samples{1}) == microbatches{most});
  static_assert(microbatches_for(batch_target(positions{most}, length{most}), samples{2}).reason()->why ==
                refusal::too_large);
  static_assert(microbatches_for(batch_target(tokens{most}, tokens{3}, samples{2}), samples{1}).reason()->why ==
                refusal::too_large);
  constexpr auto edge = *microbatches_for(batch_target(positions{most}, length{2}), samples{1}).reason();
  static_assert(edge.below == neighbour{microbatches{most / 2}, samples{most / 2}});
  static_assert(!edge.above);  // it would have 2^63 positions
}

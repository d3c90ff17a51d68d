// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/model_memory.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <ostream>

namespace plan = accrue::plan;
using accrue::samples;
using plan::memory_line;
using plan::memory_of;
using plan::memory_parts;
using plan::parts_of;
using plan::refusal;
using plan::replicas;
using plan::sharding;

namespace {

// [snippet model_memory]
// A parameter, its gradient and a place in the buffer are floats, Adam keeps two more.
static_assert(memory_of({.elements = 1000}) == memory_line{.fixed_bytes = 20'000, .bytes_per_sample = 0});

constexpr plan::model_sizes seven{.elements = 7'000'000'000,
                                  .bytes_per_copy = 2,  // bfloat16, beside master weights
                                  .activation_bytes = 4'000'000'000,
                                  .checkpointed_one_in = 8,
                                  .sharded = sharding::optimizer_state,
                                  .across = replicas{64}};
static_assert(parts_of(seven) == memory_parts{.parameters = 42'000'000'000,
                                              .gradients = 28'000'000'000,
                                              .buffer = 28'000'000'000,
                                              .optimizer_state = 875'000'000,  // 56 GB over 64 replicas
                                              .other = 0,
                                              .activations_per_sample = 500'000'000});
// [/snippet model_memory]

static_assert(memory_of({.elements = 1000,
                         .bytes_per_parameter = 4,
                         .bytes_per_gradient = 2,
                         .summation = plan::summation::order_independent,
                         .state_words = 1,
                         .bytes_per_copy = 2,
                         .activation_bytes = 1001,
                         .checkpointed_one_in = 4,
                         .other_bytes = 7}) == memory_line{1000 * (4 + 2 + 4 + 16 + 4 + 2) + 7, 251});
static_assert(memory_of({.elements = 10, .buffer = plan::buffer_scalar::in_double}) ==
              memory_line{10 * (4 + 4 + 8 + 16), 0});

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
static_assert(memory_of({.elements = most / 2}) == refusal::too_large);
static_assert(memory_of({.elements = 1, .other_bytes = most}) == refusal::too_large);
static_assert(memory_of({.elements = 1, .bytes_per_parameter = most, .bytes_per_copy = 1}) == refusal::too_large);
static_assert(memory_of({.elements = 1, .bytes_per_parameter = most - 1}) == refusal::too_large);
static_assert(memory_of({.elements = -1}) == refusal::no_number);
static_assert(memory_of({.elements = 1, .state_words = -1}) == refusal::no_number);
static_assert(memory_of({.elements = 1, .checkpointed_one_in = 0}) == refusal::no_number);
static_assert(memory_of({.elements = 1, .activation_bytes = -5}) == refusal::no_number);
static_assert(memory_of({.elements = 1, .across = replicas{0}}) == refusal::no_replicas);
static_assert(memory_of({.elements = 1, .terms = 0}) == refusal::no_terms);

constexpr memory_parts shared_by(sharding what, std::int64_t d) {
  return parts_of({.elements = 10, .bytes_per_copy = 2, .sharded = what, .across = replicas{d}}).value();
}

}  // namespace

TEST_CASE("plan: each stage of sharding shares out one part more, and rounds shares up") {
  static_assert(shared_by(sharding::nothing, 4) == memory_parts{60, 40, 40, 80, 0, 0});
  static_assert(shared_by(sharding::optimizer_state, 4) == memory_parts{60, 40, 40, 24, 0, 0});  // 3 of 10
  static_assert(shared_by(sharding::gradients, 4) == memory_parts{60, 12, 12, 24, 0, 0});
  static_assert(shared_by(sharding::parameters, 4) == memory_parts{18, 12, 12, 24, 0, 0});
  static_assert(shared_by(sharding::parameters, 1) == shared_by(sharding::nothing, 7));
}

TEST_CASE("plan: the shares of all replicas hold every element") {
  for (std::int64_t d = 1; d <= 40; ++d) {
    std::int64_t const all = shared_by(sharding::gradients, d).gradients * d;
    CHECK(all >= 40);
    CHECK(all < 40 + 4 * d);
  }
}

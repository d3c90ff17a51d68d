// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_NORMALIZATION_HPP
#define ACCRUE_FINALIZE_NORMALIZATION_HPP

#include <accrue/core/facts.hpp>
#include <accrue/core/slots.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

namespace accrue {

/// What a policy for the slot normalization offers: the count c_i of a microbatch, an exact 64-bit integer or a double,
/// and the fact it is read from (`needs`; void where any microbatch has it).
template <class Policy>
concept normalization_policy = fills_slot<Policy, slot::normalization> && requires(microbatch_facts const& facts) {
  typename Policy::needs;
  { Policy::count(facts) } -> std::same_as<typename Policy::count_type>;
  requires std::same_as<typename Policy::count_type, std::int64_t> || std::same_as<typename Policy::count_type, double>;
};

/// Every sample weighs the same: G is the mean over the group's samples.
struct per_sample {
  using fills = slot::normalization;
  using needs = samples;
  using count_type = std::int64_t;
  static constexpr std::string_view name = "per_sample";
  [[nodiscard]] static constexpr count_type count(microbatch_facts const& facts) { return facts.samples.value(); }
  friend bool operator==(per_sample const&, per_sample const&) = default;
};

/// Every supervised token weighs the same: G is the mean over the group's supervised tokens.
///
/// Source: the fix of the gradient-accumulation loss in Hugging Face transformers (`num_items_in_batch`), October 2024.
struct per_token {
  using fills = slot::normalization;
  using needs = tokens;
  using count_type = std::int64_t;
  static constexpr std::string_view name = "per_token";
  [[nodiscard]] static constexpr count_type count(microbatch_facts const& facts) { return facts.tokens.value(); }
  friend bool operator==(per_token const&, per_token const&) = default;
};

/// Every microbatch weighs the same, whatever it holds. A mean of means: right only for microbatches of equal size, or
/// where that is the objective.
///
/// A microbatch that declares `samples{0}` or `tokens{0}` is ignored here too.
struct per_microbatch {
  using fills = slot::normalization;
  using needs = void;
  using count_type = std::int64_t;
  static constexpr std::string_view name = "per_microbatch";
  [[nodiscard]] static constexpr count_type count(microbatch_facts const& facts) {
    return facts.declares_nothing ? 0 : 1;
  }
  friend bool operator==(per_microbatch const&, per_microbatch const&) = default;
};

/// Every microbatch weighs what the user says: `weight{0.5}`.
struct weighted {
  using fills = slot::normalization;
  using needs = weight;
  using count_type = double;
  static constexpr std::string_view name = "weighted";
  [[nodiscard]] static constexpr count_type count(microbatch_facts const& facts) { return facts.weight.value(); }
  friend bool operator==(weighted const&, weighted const&) = default;
};

static_assert(normalization_policy<per_sample> && normalization_policy<per_token> &&
              normalization_policy<per_microbatch> && normalization_policy<weighted>);

}  // namespace accrue
#endif

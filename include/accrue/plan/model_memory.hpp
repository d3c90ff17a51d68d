// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_MODEL_MEMORY_HPP
#define ACCRUE_PLAN_MODEL_MEMORY_HPP

#include <accrue/plan/buffer_words.hpp>
#include <accrue/plan/exact_product.hpp>
#include <accrue/plan/memory_line.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/refusal.hpp>
#include <accrue/plan/units.hpp>

#include <cstdint>
#include <limits>

namespace accrue::plan {

/// Of what a replica keeps only its share, each of these with all before it: ZeRO's stages 0 to 3.
enum class sharding { nothing, optimizer_state, gradients, parameters };

/// What a model has, for an estimate before anything was run.
struct model_sizes {
  std::int64_t elements = 0;  ///< parameters, each counted once
  std::int64_t bytes_per_parameter = 4;
  std::int64_t bytes_per_gradient = 4;  ///< 0 where the producer writes into the buffer
  std::int64_t terms = 1;
  plan::division division = plan::division::late;
  plan::summation summation = plan::summation::widened;
  buffer_scalar buffer = buffer_scalar::in_float;
  std::int64_t state_words = 2;          ///< of the optimizer, for each parameter: 2 for Adam
  std::int64_t bytes_per_copy = 0;       ///< of a rounded copy beside master weights
  std::int64_t activation_bytes = 0;     ///< of a sample
  std::int64_t checkpointed_one_in = 1;  ///< of so many layers one keeps its activations
  std::int64_t other_bytes = 0;          ///< of the program
  plan::sharding sharded = plan::sharding::nothing;
  replicas across{1};  ///< that share what is sharded
};

/// What each part takes on one replica, in bytes.
struct memory_parts {
  std::int64_t parameters;  ///< with their rounded copy
  std::int64_t gradients;
  std::int64_t buffer;
  std::int64_t optimizer_state;
  std::int64_t other;
  std::int64_t activations_per_sample;

  friend constexpr bool operator==(memory_parts const&, memory_parts const&) = default;
};

/// The parts of a model's memory; a share that does not divide is rounded up.
///
/// `gradients` shards the accumulation buffer with them. What is gathered for a moment to compute with is not counted.
/// Failure: `no_number` for what is negative, or checkpoints of one in 0; `no_replicas`; as `buffer_bytes`;
/// `too_large`. Source of the stages: Rajbhandari et al. 2020.
[[nodiscard]] constexpr planned<memory_parts> parts_of(model_sizes const& model) noexcept {
  for (std::int64_t number :
       {model.elements, model.bytes_per_parameter, model.bytes_per_gradient, model.state_words, model.bytes_per_copy,
        model.activation_bytes, model.checkpointed_one_in - 1, model.other_bytes})
    if (number < 0) return refusal::no_number;
  if (model.across == replicas{}) return refusal::no_replicas;
  auto const own = [&](plan::sharding from) {
    std::int64_t const d = model.sharded >= from ? model.across.value() : 1;
    return model.elements / d + (model.elements % d != 0 ? 1 : 0);
  };
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (model.bytes_per_copy > most - model.bytes_per_parameter) return refusal::too_large;
  auto const parameters =
      exact_product<std::int64_t>({own(plan::sharding::parameters), model.bytes_per_parameter + model.bytes_per_copy});
  auto const gradients = exact_product<std::int64_t>({own(plan::sharding::gradients), model.bytes_per_gradient});
  auto const buffer =
      buffer_bytes(own(plan::sharding::gradients), model.terms, model.division, model.summation, model.buffer);
  std::int64_t const word = model.buffer == buffer_scalar::in_float ? 4 : 8;
  auto const state = exact_product<std::int64_t>({own(plan::sharding::optimizer_state), model.state_words, word});
  for (auto const& part : {parameters, gradients, buffer, state})
    if (!part) return *part.reason();
  std::int64_t const kept = model.checkpointed_one_in;
  return memory_parts{parameters.value(), gradients.value(),
                      buffer.value(),     state.value(),
                      model.other_bytes,  model.activation_bytes / kept + (model.activation_bytes % kept != 0 ? 1 : 0)};
}

/// The line of a model: its parts, added up.
///
/// Failure: as `parts_of`.
[[nodiscard]] constexpr planned<memory_line> memory_of(model_sizes const& model) noexcept {
  auto const parts = parts_of(model);
  if (!parts) return *parts.reason();
  memory_parts const of = parts.value();
  std::int64_t fixed = 0;
  for (std::int64_t part : {of.parameters, of.gradients, of.buffer, of.optimizer_state, of.other}) {
    if (part > std::numeric_limits<std::int64_t>::max() - fixed) return refusal::too_large;
    fixed += part;
  }
  return memory_line{fixed, of.activations_per_sample};
}

}  // namespace accrue::plan
#endif

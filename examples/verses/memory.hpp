// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_VERSES_MEMORY_HPP
#define ACCRUE_EXAMPLES_VERSES_MEMORY_HPP

#include <Kokkos_Core.hpp>

#include "../support/memory_check.hpp"
#include "corpus.hpp"
#include "equality.hpp"
#include "padded_batch.hpp"
#include "training.hpp"
#include "word_model.hpp"

namespace examples {

/// The memory model against a training run of one group of lines, cut in five ways.
inline bool memory_is_as_planned(corpus const& words, line_numbers const& lines) {
  int const batch = static_cast<int>(lines.size());
  int const length = longest_line(words);
  constexpr int embedding = 16;
  std::int64_t const vocabulary = words.vocabulary, context = context_size * embedding;

  accrue::plan::model_sizes sizes;
  sizes.elements = vocabulary * embedding + (context + 1) * vocabulary;
  std::int64_t const of_position = 4 * (2 * context + vocabulary) + 2 * 4 * (context_size + 1);  // host and device
  sizes.activation_bytes = length * of_position;
  return memory_model_holds(sizes, batch, {1, 4, 8, 16, batch}, [&](int m, int a) {
    word_model const parameters(words.vocabulary, embedding), gradient(words.vocabulary, embedding);
    generator random(4);
    initialize(parameters, random);
    word_workspace const work(parameters, m * length);
    padded_batch room(m * length);
    training_plan plan;
    plan.microbatch_size = m;
    plan.microbatches_per_group = a;
    train(execution(), word_problem{words, parameters, gradient, work, room}, lines, plan, accrue::per_token{},
          "one group");
  });
}

}  // namespace examples
#endif

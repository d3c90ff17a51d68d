// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Predicts a word from the two before it: their embeddings side by side, a linear layer, softmax.
#ifndef ACCRUE_EXAMPLES_VERSES_WORD_MODEL_HPP
#define ACCRUE_EXAMPLES_VERSES_WORD_MODEL_HPP

#include <Kokkos_Core.hpp>
#include <tuple>

#include "../support/dense_layer.hpp"
#include "../support/random.hpp"
#include "../support/softmax_cross_entropy.hpp"
#include "padded_batch.hpp"

namespace examples {

/// The parameters, or their gradients.
struct word_model {
  matrix embedding;    // a row for each word
  dense_layer output;  // from the embeddings of the context to the next word

  word_model(int vocabulary, int embedding_size)
      : embedding("examples::embedding", vocabulary, embedding_size),
        output(context_size * embedding_size, vocabulary) {}

  [[nodiscard]] std::tuple<matrix, matrix, vector> views() const { return {embedding, output.weight, output.bias}; }
};

inline void initialize(word_model const& parameters, generator& random) {
  fill_uniform(parameters.embedding, 0.5f, random);
  initialize(parameters.output, random);
}

/// What a pass computes on its way; made once, for the largest microbatch. The logits are by far the largest part.
struct word_workspace {
  matrix context, context_gradient, logits;

  word_workspace(word_model const& model, int positions)
      : context("examples::context", positions, model.output.weight.extent(0)),
        context_gradient("examples::context_gradient", positions, model.output.weight.extent(0)),
        logits("examples::logits", positions, model.output.weight.extent(1)) {}

  /// The same memory, seen as the workspace of a smaller microbatch.
  [[nodiscard]] word_workspace of(int positions) const {
    word_workspace part = *this;
    for (matrix* const each : {&part.context, &part.context_gradient, &part.logits})
      *each = first_rows(*each, positions);
    return part;
  }
};

inline void look_up(execution const& exec, matrix const& embedding, context_words const& contexts,
                    matrix const& found) {
  int const size = static_cast<int>(embedding.extent(1));
  Kokkos::parallel_for(
      "examples::look_up",
      Kokkos::MDRangePolicy<execution, Kokkos::Rank<2>>(exec, {0, 0}, {found.extent(0), found.extent(1)}),
      KOKKOS_LAMBDA(int position, int column) {
        found(position, column) = embedding(contexts(position, column / size), column % size);
      });
}

/// Each word collects the gradients of the positions that looked it up: no atomics, the same bits on every run.
inline void look_up_backward(execution const& exec, context_words const& contexts, matrix const& found_gradient,
                             matrix const& embedding_gradient) {
  int const positions = static_cast<int>(found_gradient.extent(0));
  int const size = static_cast<int>(embedding_gradient.extent(1));
  Kokkos::parallel_for(
      "examples::look_up_backward", Kokkos::RangePolicy<execution>(exec, 0, embedding_gradient.extent(0)),
      KOKKOS_LAMBDA(int word) {
        for (int e = 0; e < size; ++e) embedding_gradient(word, e) = 0;
        for (int position = 0; position < positions; ++position)
          for (int slot = 0; slot < context_size; ++slot)
            if (contexts(position, slot) == word)
              for (int e = 0; e < size; ++e) embedding_gradient(word, e) += found_gradient(position, slot * size + e);
      });
}

/// Returns the summed loss of the supervised positions, and leaves `scale` times its gradient in place of the logits;
/// fences.
inline double sum_loss(execution const& exec, word_model const& parameters, padded_batch const& batch,
                       word_workspace const& all, float scale = 1) {
  word_workspace const work = all.of(batch.positions());
  look_up(exec, parameters.embedding, batch.contexts(), work.context);
  forward(exec, parameters.output, work.context, work.logits);
  return softmax_cross_entropy(exec, work.logits, batch.targets(), scale);
}

/// Overwrites `gradient` with that of the mean loss over the supervised positions, and returns that loss; fences.
///
/// Where nothing is supervised both are 0.
inline double mean_gradient(execution const& exec, word_model const& parameters, padded_batch const& batch,
                            word_workspace const& all, word_model const& gradient) {
  float const scale = batch.supervised() > 0 ? 1.0f / static_cast<float>(batch.supervised()) : 0.0f;
  double const loss = sum_loss(exec, parameters, batch, all, scale);
  word_workspace const work = all.of(batch.positions());
  backward(exec, work.context, work.logits, gradient.output);
  backward_to_input(exec, parameters.output, work.logits, work.context_gradient);
  look_up_backward(exec, batch.contexts(), work.context_gradient, gradient.embedding);
  return loss * scale;
}

}  // namespace examples
#endif

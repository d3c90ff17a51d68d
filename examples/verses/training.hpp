// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_VERSES_TRAINING_HPP
#define ACCRUE_EXAMPLES_VERSES_TRAINING_HPP

#include <accrue/accrue.hpp>
#include <accrue/doctor/memory_watch.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <functional>
#include <iostream>
#include <string>

#include "../support/progress.hpp"
#include "../support/run_sheet.hpp"
#include "equality.hpp"
#include "padded_batch.hpp"
#include "word_model.hpp"

namespace examples {

struct training_plan {
  int microbatch_size = 8;  // lines
  int microbatches_per_group = 8;
  std::size_t training_lines = 8000;
  double learning_rate = 2e-2;
  double max_norm = 1.0;
  std::ostream* numbers = nullptr;         // takes a line for each group, if there is one
  std::ostream* sheet = &std::cout;        // takes the run sheet
  accrue::memory_watch* memory = nullptr;  // watches groups, if there is one
};

/// The mean loss of all supervised tokens of some lines.
inline double loss_per_token(execution const& exec, word_problem const& problem, line_numbers const& lines,
                             int microbatch_size) {
  double loss = 0;
  double tokens = 0;
  for (auto const& chosen : cut_evenly(sorted_by_length(problem.words, lines), microbatch_size)) {
    problem.batch.fill(exec, problem.words, chosen);
    loss += sum_loss(exec, problem.parameters, problem.batch, problem.work);
    tokens += problem.batch.supervised();
  }
  return loss / tokens;
}

/// Trains the problem's parameters in place, once through the lines, and returns the run sheet.
///
/// The lines of a group are sorted by length before they are cut, as is usual, because it saves padding. It also
/// gives the microbatches of a group very different numbers of tokens.
template <class Normalization>
accrue::run_sheet train(execution const& exec, word_problem const& problem, line_numbers const& lines,
                        training_plan plan, Normalization normalization, std::string const& name) {
  auto const& [words, parameters, gradient, work, batch] = problem;
  accrue::accumulator group(
      exec, accrue::parameters(parameters.embedding, parameters.output.weight, parameters.output.bias), normalization,
      accrue::every{plan.microbatches_per_group}, accrue::keep_last{},
      accrue::clip_by_global_norm{.max_norm = plan.max_norm}, accrue::adam{.learning_rate = plan.learning_rate});

  if (plan.numbers != nullptr) group.observe(accrue::csv_writer(*plan.numbers));
  accrue::run_history history;
  group.observe(std::ref(history));
  if (plan.memory != nullptr) plan.memory->groups_of(group);

  progress bar(name, static_cast<int>(lines.size()), "lines");
  int done = 0;
  for (auto const& group_lines : cut_evenly(lines, plan.microbatch_size * plan.microbatches_per_group)) {
    for (auto const& chosen : cut_evenly(sorted_by_length(words, group_lines), plan.microbatch_size)) {
      batch.fill(exec, words, chosen);
      double const loss = mean_gradient(exec, parameters, batch, work, gradient);
      group.accumulate(accrue::mean_gradient{gradient.embedding, gradient.output.weight, gradient.output.bias},
                       accrue::samples{chosen.size()}, accrue::tokens{batch.supervised()},
                       accrue::ignored_tokens{batch.ignored_ones()}, accrue::positions{batch.positions()},
                       accrue::mean_loss{loss});
      if (group.full()) group.update();
      bar.show(done += static_cast<int>(chosen.size()));
    }
  }
  group.end_of_data();
  bar.clear();
  return run_sheet_of(group, history,
                      {.microbatch = accrue::samples{plan.microbatch_size},
                       .group = accrue::microbatches{plan.microbatches_per_group},
                       .replicas = 1,
                       .samples = accrue::samples{lines.size()}},
                      plan.memory);
}

}  // namespace examples
#endif

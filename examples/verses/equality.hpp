// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_VERSES_EQUALITY_HPP
#define ACCRUE_EXAMPLES_VERSES_EQUALITY_HPP

#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

#include "../support/format.hpp"
#include "../support/gradient_check.hpp"
#include "padded_batch.hpp"
#include "word_model.hpp"

namespace examples {

using split = std::vector<line_numbers>;  // a group of lines, cut into microbatches

/// What both ways to normalize have in common: the text, the model, and memory for a pass.
struct word_problem {
  corpus const& words;
  word_model const& parameters;
  word_model const& gradient;
  word_workspace const& work;
  padded_batch& batch;
};

inline line_numbers sorted_by_length(corpus const& all, line_numbers lines) {
  std::stable_sort(lines.begin(), lines.end(), [&](int a, int b) {
    return all.lines[static_cast<std::size_t>(a)].size() < all.lines[static_cast<std::size_t>(b)].size();
  });
  return lines;
}

/// Microbatches of `size` lines each; the last one may be smaller.
inline split cut_evenly(line_numbers const& lines, int size) {
  split cut;
  for (auto from = lines.begin(); from != lines.end();) {
    auto const to = from + std::min<std::ptrdiff_t>(size, lines.end() - from);
    cut.emplace_back(from, to);
    from = to;
  }
  return cut;
}

/// Microbatches of 1 to 12 lines.
inline split cut_randomly(line_numbers const& lines, generator& random) {
  split cut;
  std::size_t left = 0;
  for (int const number : lines) {
    if (left == 0) {
      left = 1 + random() % 12;
      cut.emplace_back();
    }
    cut.back().push_back(number);
    --left;
  }
  return cut;
}

/// The gradient that an accumulator forms from the microbatches of a split.
template <class Normalization>
std::vector<double> accumulated_gradient(execution const& exec, word_problem const& problem, split const& microbatches,
                                         Normalization normalization) {
  auto const& [words, parameters, gradient, work, batch] = problem;
  accrue::accumulator group(
      exec, accrue::parameters(parameters.embedding, parameters.output.weight, parameters.output.bias), normalization);
  for (auto const& lines : microbatches) {
    batch.fill(exec, words, lines);
    mean_gradient(exec, parameters, batch, work, gradient);
    group.accumulate(accrue::mean_gradient{gradient.embedding, gradient.output.weight, gradient.output.bias},
                     accrue::tokens{batch.supervised()});
  }
  return entries(std::tuple(group.template snapshot<0>(), group.template snapshot<1>(), group.template snapshot<2>()));
}

/// Prints, for several splits of the same lines, how far both normalizations are from one pass over all lines.
///
/// Returns whether per token is equal and mean of means is not, which shows that the comparison can tell.
inline bool tokens_equal_full_batch(execution const& exec, word_problem const& problem, line_numbers const& lines) {
  constexpr double tolerance = 1e-5;  // float rounding of sums of about a thousand terms
  problem.batch.fill(exec, problem.words, lines);
  mean_gradient(exec, problem.parameters, problem.batch, problem.work, problem.gradient);
  auto const reference = entries(problem.gradient.views());
  int const supervised = problem.batch.supervised();

  generator random(4);
  auto const sorted = sorted_by_length(problem.words, lines);
  struct named_split {
    char const* name;
    split microbatches;
  };
  named_split const splits[] = {{"8 lines each, as they come", cut_evenly(lines, 8)},
                                {"8 lines each, sorted by length", cut_evenly(sorted, 8)},
                                {"one line each", cut_evenly(lines, 1)},
                                {"random cuts", cut_randomly(lines, random)}};

  std::cout << "Gradient of " << lines.size() << " lines, " << supervised
            << " supervised tokens, accumulated, against one pass over all of them\n"
            << "  split                            microbatches   per token   mean of means\n";
  bool holds = true;
  for (auto const& [name, microbatches] : splits) {
    double const right =
        relative_difference(accumulated_gradient(exec, problem, microbatches, accrue::per_token{}), reference);
    double const wrong =
        relative_difference(accumulated_gradient(exec, problem, microbatches, accrue::per_microbatch{}), reference);
    holds = holds && right < tolerance && wrong > 100 * tolerance;
    std::cout << "  " << std::left << std::setw(34) << name << std::right << std::setw(11) << microbatches.size()
              << std::setw(12) << scientific(right, 1) << std::setw(14) << fixed(100 * wrong, 1) << " %\n";
  }
  return holds;
}

}  // namespace examples
#endif

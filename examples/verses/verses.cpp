// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lines of very different length: dividing by tokens gives the gradient of the large batch, a mean of means does not.
#include <accrue/accrue.hpp>
#include <accrue/doctor/memory_watch.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include "../support/arguments.hpp"
#include "../support/drawing.hpp"
#include "../support/format.hpp"
#include "../support/gradient_check.hpp"
#include "../support/run_sheet.hpp"
#include "corpus.hpp"
#include "equality.hpp"
#include "memory.hpp"
#include "padded_batch.hpp"
#include "training.hpp"
#include "word_model.hpp"

namespace {

using examples::line_numbers;

constexpr char const* usage = R"(usage: verses --data FILE [--quick] [--draw FOLDER]
       verses --quick        with a synthetic text
       verses --memory ...   measures what training takes in memory, for five (m, A)

  --data FILE     a text, one sequence a line: the verses of a bible, or any text of your own
  --quick         a short training run
  --draw FOLDER   writes the run sheet there, and the record of every update per token as CSV, and draws the losses as
                  SVG with gnuplot
)";

examples::corpus load(examples::arguments const& given) {
  int const vocabulary = given.has("--quick") ? 200 : 2000;
  if (auto const path = given.value("--data"))
    return examples::number_words(examples::read_text(*path), vocabulary, *path);
  if (given.has("--quick"))
    return examples::number_words(examples::synthetic_text(), vocabulary, "SYNTHETIC text (made-up words)");
  throw std::invalid_argument("there is no text to learn from");
}

struct chosen_lines {
  line_numbers proof, training, held_out;
};

chosen_lines choose_lines(examples::corpus const& words, std::size_t training_lines) {
  examples::generator random(0);
  auto const order = examples::shuffled_order(static_cast<int>(words.lines.size()), random);
  auto const from = order.begin();
  auto const held_out = std::min<std::ptrdiff_t>(1000, std::ssize(order) / 5);
  auto const last = std::min(held_out + static_cast<std::ptrdiff_t>(training_lines), std::ssize(order));
  return {{from + held_out, from + held_out + 64}, {from + held_out, from + last}, {from, from + held_out}};
}

/// Trains from the same start each time, and prints what came of it.
template <class Normalization>
accrue::run_sheet train_and_report(examples::execution const& exec, examples::word_problem const& problem,
                                   chosen_lines const& lines, examples::training_plan const& plan,
                                   Normalization normalization, char const* name) {
  examples::generator random(5);
  initialize(problem.parameters, random);
  accrue::run_sheet const sheet = train(exec, problem, lines.training, plan, normalization, name);
  double const loss = loss_per_token(exec, problem, lines.held_out, plan.microbatch_size);
  std::cout << name << ": held-out loss per token " << examples::fixed(loss, 4) << "\n  " << sheet.ledger << '\n';
  return sheet;
}

/// Returns whether everything that is claimed holds.
bool run(examples::corpus const& words, examples::training_plan const& plan) {
  using namespace examples;
  execution const exec;
  auto const lines = choose_lines(words, plan.training_lines);
  std::cout << words.description << ": " << lines.training.size() << " lines for training, " << lines.held_out.size()
            << " held out, " << words.vocabulary << " words in the vocabulary\n\n";

  word_model const parameters(words.vocabulary, 16), gradient(words.vocabulary, 16);
  generator random(4);
  initialize(parameters, random);
  int const capacity = static_cast<int>(lines.proof.size()) * longest_line(words);
  word_workspace const work(parameters, capacity);
  padded_batch batch(capacity);
  word_problem const problem{words, parameters, gradient, work, batch};

  batch.fill(exec, words, lines.proof);
  mean_gradient(exec, parameters, batch, work, gradient);
  double const slope_error = worst_slope_error(parameters.views(), gradient.views(), [&] {
    return sum_loss(exec, parameters, batch, work) / batch.supervised();
  });
  std::cout << "The backward pass agrees with finite differences of the loss to " << scientific(slope_error, 1)
            << "\n\n";

  bool const holds = tokens_equal_full_batch(exec, problem, lines.proof);
  std::cout << (holds ? "Per token is equal within 1e-5 however the lines are split; mean of means is not.\n"
                      : "This does NOT hold: per token equal within 1e-5, and mean of means not.\n");

  std::cout << "\nTraining on the same lines in the same order\n";
  training_plan unrecorded = plan;
  unrecorded.numbers = nullptr;
  train_and_report(exec, problem, lines, unrecorded, accrue::per_microbatch{}, "mean of means");
  auto const sheet = train_and_report(exec, problem, lines, plan, accrue::per_token{}, "per token");
  std::cout << '\n';
  write_markdown(*plan.sheet, sheet);
  if (plan.sheet == &std::cout) std::cout << '\n';
  return slope_error < 1e-2 && holds;
}

}  // namespace

int main(int argc, char* argv[]) {
  try {
    examples::arguments const given(argc, argv, {"--quick", "--memory", "--help"}, {"--data", "--draw"});
    if (given.has("--help")) {
      std::cout << usage;
      return 0;
    }
    Kokkos::ScopeGuard const kokkos(argc, argv);
    if (given.has("--memory")) {
      examples::corpus const words = load(given);
      return examples::memory_is_as_planned(words, choose_lines(words, 64).proof) ? 0 : 1;
    }
    accrue::memory_watch memory;
    examples::training_plan plan;
    plan.memory = &memory;
    if (given.has("--quick")) plan.training_lines = 800;
    auto const words = load(given);
    auto const folder = given.value("--draw");
    auto numbers = folder ? examples::open_numbers(*folder, "updates.csv") : std::ofstream();
    auto sheet = folder ? examples::open_numbers(*folder, "run_sheet.md") : std::ofstream();
    if (folder) plan.numbers = &numbers, plan.sheet = &sheet;
    bool const right = run(words, plan);
    numbers.close();
    if (folder) std::cout << "Run sheet: " << *folder << "/run_sheet.md\n\n";
    if (folder) examples::draw("support/loss.gp", *folder);
    return right ? 0 : 1;
  } catch (std::invalid_argument const& problem) {
    std::cerr << "verses: " << problem.what() << "\n\n" << usage;
    return 2;
  } catch (std::exception const& problem) {
    std::cerr << "verses: " << problem.what() << '\n';
    return 2;
  }
}

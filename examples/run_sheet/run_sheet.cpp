// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A run with a plan that does not quite come true, and its run sheet: as Markdown, or in the form of the argument.
#include <accrue/accrue.hpp>
#include <accrue/doctor/memory_watch.hpp>
#include <accrue/make_run_sheet.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <string_view>

namespace {

namespace plan = accrue::plan;
using vector = Kokkos::View<double*>;
using scalar = Kokkos::View<double>;

constexpr int points = 90, microbatch_size = 4, group_size = 3, passes = 4;

/// Stands for a backward pass of the scaled loss: mean gradient and mean loss of the points from `first` to before
/// `last`. The measurement of point 50 is lost.
void backward(vector const& line, int first, int last, float scale, vector const& gradient, scalar const& loss) {
  Kokkos::parallel_for(
      "backward", 1, KOKKOS_LAMBDA(int) {
        gradient(0) = gradient(1) = loss() = 0;
        for (int i = first; i < last; ++i) {
          double const x = 0.03125 * i;
          double const wanted = i == 50 ? Kokkos::Experimental::quiet_NaN_v<double> : 3 * x - 1 + 0.25 * (i % 3);
          double const error = line(0) * x + line(1) - wanted;
          gradient(0) += scale * error * x / (last - first);
          gradient(1) += scale * error / (last - first);
          loss() += error * error / 2 / (last - first);
        }
      });
}

/// The plan of a run over all points, from the same numbers that the loop uses.
accrue::run_plan make_plan() {
  accrue::microbatches const in_pass{(points + microbatch_size - 1) / microbatch_size};
  auto const expected =
      plan::updates_over(plan::passes{passes}, {in_pass, accrue::microbatches{group_size}}, plan::last_group::keep);
  return {.microbatch = accrue::samples{microbatch_size},
          .group = accrue::microbatches{group_size},
          .replicas = 1,
          .updates = expected.value().total,
          .samples = accrue::samples{passes * points}};
}

accrue::run_sheet train() {
  accrue::memory_watch memory;
  vector const line("line", 2), gradient("gradient", 2);
  scalar const loss("loss");

  accrue::accumulator group(
      accrue::parameters(line), accrue::per_sample{}, accrue::every{group_size}, accrue::keep_last{},
      accrue::clip_by_global_norm{.max_norm = 4.0}, accrue::dynamic_scale{.initial = 1024, .growth_interval = 12},
      accrue::scheduled(accrue::momentum{.learning_rate = 0.125},
                        accrue::schedule::sequence(accrue::schedule::warm_up(accrue::updates{4}),
                                                   accrue::schedule::cosine(accrue::updates{28}))));
  accrue::run_history history;
  group.observe(std::ref(history));
  memory.groups_of(group);

  for (int pass = 0; pass < passes; ++pass) {
    for (int first = 0; first < points; first += microbatch_size) {
      int const last = std::min(first + microbatch_size, points);
      backward(line, first, last, group.loss_scale().value(), gradient, loss);
      group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{last - first}, accrue::mean_loss{loss});
      if (group.full()) group.update();
    }
    group.end_of_data();
  }

  accrue::run_sheet sheet = make_run_sheet(group, history);
  sheet.title = "a line through 90 points, one of them lost";
  sheet.plan = make_plan();
  sheet.memory = memory.report();
  return sheet;
}

}  // namespace

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  std::string_view const form = argc > 1 ? argv[1] : "markdown";
  accrue::run_sheet const sheet = train();
  if (form == "json")
    write_json(std::cout, sheet);
  else if (form == "csv")
    write_csv(std::cout, sheet);
  else
    write_markdown(std::cout, sheet);
  return sheet.ledger.applied() == accrue::updates{28} ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is under the ground, from waves that were recorded at the surface: full-waveform inversion, one shot a
// microbatch, because the wavefields of all shots do not fit into memory together.
#include <accrue/accrue.hpp>
#include <accrue/doctor/memory_watch.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/arguments.hpp"
#include "../support/drawing.hpp"
#include "../support/format.hpp"
#include "../support/gradient_check.hpp"
#include "../support/memory_use.hpp"
#include "../support/progress.hpp"
#include "../support/random.hpp"
#include "bounded_adam.hpp"
#include "ground.hpp"
#include "survey.hpp"
#include "wave.hpp"

namespace {

using namespace examples;

constexpr char const* usage = R"(usage: inversion [--quick] [--budget MEGABYTES] [--draw FOLDER]

  --quick            a coarser grid and fewer shots, in a few seconds
  --budget           what all views may take together: 128 if not given, 20 with --quick
  --draw FOLDER      writes the ground and the misfit there as CSV, and draws them as SVG with gnuplot
)";

struct inversion_plan {
  grid g{.depth = 60, .width = 176, .sponge = 20, .times = 800, .spacing = 0.02f, .interval = 0.0028f};
  int shots = 20;
  int shots_per_update = 5;
  std::vector<double> frequencies{3, 5, 8};  // from low to high, after Bunks et al. (1995)
  int passes = 5;                            // over all shots, with each frequency
  double learning_rate = 0.03;               // km/s
  std::int64_t budget = 128'000'000;         // bytes
  std::ostream* numbers = nullptr;           // takes a line for each group, if there is one
};

inversion_plan quick_plan() {
  return {.g = {.depth = 30, .width = 88, .sponge = 10, .times = 420, .spacing = 0.04f, .interval = 0.0056f},
          .shots = 8,
          .shots_per_update = 2,
          .frequencies = {2.5, 4},
          .passes = 7,
          .budget = 20'000'000};
}

/// What the views of the program take, beside those of a shot: recordings, two grounds, gradient, sums, state of Adam.
accrue::plan::memory_line memory_of(inversion_plan const& plan) {
  grid const& g = plan.g;
  std::int64_t const points = static_cast<std::int64_t>(g.rows()) * g.columns();
  std::int64_t const padded = static_cast<std::int64_t>(g.rows() + 2 * margin) * (g.columns() + 2 * margin);
  std::int64_t const recordings = static_cast<std::int64_t>(plan.shots + 1) * g.times * g.width;
  return {.fixed_bytes = 4 * (recordings + 8 * points), .bytes_per_sample = 4 * padded * (g.times + 2 + 2)};
}

/// The gradient of one shot's misfit, and the misfit. What is known needs no gradient: the ground at the instruments.
void shoot(execution const& exec, wave_workspace const& work, field const& velocity, survey const& made, int shot,
           field const& gradient, scalar const& loss) {
  auto const s = static_cast<std::size_t>(shot);
  run_forward(exec, work, velocity, made.columns[s], made.wavelet);
  misfit(exec, work, made.recordings[s], made.weight, loss);
  run_adjoint(exec, work, velocity, made.recordings[s], made.weight, gradient);
  int const known = work.g.instrument_row() + 2;
  for_all_points(
      "inversion::mute", exec, work.g, KOKKOS_LAMBDA(int i, int j) {
        if (i < known) gradient(i, j) = 0.0f;
      });
}

/// How far the gradient of a shot is from the slope of its misfit, measured by moving the velocity both ways.
double gradient_error(execution const& exec, wave_workspace const& work, field const& truth, field const& velocity,
                      double frequency) {
  survey const two(exec, work, truth, 2, frequency);
  field const gradient("inversion::gradient", work.g.rows(), work.g.columns());
  scalar const loss("inversion::loss");
  shoot(exec, work, velocity, two, 0, gradient, loss);
  return slope_error(velocity, gradient, 0.1f, [&] {
    run_forward(exec, work, velocity, two.columns[0], two.wavelet);
    misfit(exec, work, two.recordings[0], two.weight, loss);
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, loss)();
  });
}

/// Moves `velocity` until it explains what was recorded over the true ground.
///
/// Adam divides the gradient of each point by its own size: points far down, where little sound arrives, need no
/// weight.
void invert(execution const& exec, inversion_plan const& plan, wave_workspace const& work, field const& truth,
            field const& velocity) {
  field const gradient("inversion::gradient", plan.g.rows(), plan.g.columns());
  scalar const loss("inversion::loss");
  bounded_adam rule{.unbounded = {.learning_rate = plan.learning_rate, .beta2 = 0.9}, .lowest = 1.5, .highest = 3.5};
  accrue::accumulator group(exec, accrue::parameters(velocity), accrue::per_sample{},
                            accrue::every{plan.shots_per_update}, accrue::keep_last{}, rule);
  if (plan.numbers != nullptr) group.observe(accrue::csv_writer(*plan.numbers));

  double const at_first = distance(plan.g, velocity, truth);
  std::cout << "  Hz   updates   misfit   model error\n  at first" << std::setw(21) << fixed(1000 * at_first, 0)
            << " m/s\n";
  generator random(1);
  progress bar("inversion", static_cast<int>(plan.frequencies.size()) * plan.passes * plan.shots, "shots");
  int done = 0;
  for (double const frequency : plan.frequencies) {
    survey const made(exec, work, truth, plan.shots, frequency);
    for (int pass = 0; pass < plan.passes; ++pass) {
      rule.unbounded.learning_rate = plan.learning_rate * (1 - 0.7 * pass / plan.passes);
      group.change_rule(rule);
      for (int const shot : shuffled_order(plan.shots, random)) {
        shoot(exec, work, velocity, made, shot, gradient, loss);
        group.accumulate(accrue::sum_gradient{gradient}, accrue::samples{1}, accrue::mean_loss{loss});
        if (group.full()) group.update();
        bar.show(++done);
      }
      group.end_of_data();
    }
    bar.clear();
    accrue::ledger const& book = group.ledger();
    std::cout << std::setw(4) << frequency << std::setw(10) << book.applied().value() << std::setw(10)
              << scientific(book.records().back().loss.value_or(0), 1) << std::setw(7)
              << fixed(1000 * distance(plan.g, velocity, truth), 0) << " m/s\n";
  }
  std::cout << '\n' << group.ledger() << '\n' << group.policies() << "\n\n";
}

/// The three grounds, a line for each point: distance and depth in km, velocities in km/s.
void write_grounds(std::ostream& out, grid const& g, field const& truth, field const& start, field const& found) {
  auto const on_host = [](field const& view) { return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view); };
  auto const a = on_host(truth), b = on_host(start), c = on_host(found);
  out << "distance,depth,true,start,recovered\n";
  for (int i = g.sponge; i < g.sponge + g.depth; ++i)
    for (int j = g.sponge; j < g.sponge + g.width; ++j)
      out << fixed(g.spacing * static_cast<float>(j - g.sponge), 3) << ','
          << fixed(g.spacing * static_cast<float>(i - g.sponge), 3) << ',' << fixed(a(i, j), 3) << ','
          << fixed(b(i, j), 3) << ',' << fixed(c(i, j), 3) << '\n';
}

/// Returns whether everything that is claimed holds.
bool run(inversion_plan plan, accrue::memory_watch const& watch, std::optional<std::string> const& folder) {
  execution const exec;
  grid const& g = plan.g;
  auto const megabytes = [](std::int64_t bytes) { return fixed(static_cast<double>(bytes) / 1e6, 0) + " MB"; };
  accrue::plan::memory_line const memory = memory_of(plan);
  accrue::samples const fit = accrue::plan::largest_microbatch(memory, plan.budget).value();
  std::cout << plan.shots << " shots over " << g.width << " by " << g.depth << " points of "
            << fixed(1000 * g.spacing, 0) << " m, " << g.times << " intervals of " << fixed(1000 * g.interval, 1)
            << " ms\n"
            << "The wavefield of a shot takes " << megabytes(memory.bytes_per_sample) << ", of all at once "
            << megabytes(plan.shots * memory.bytes_per_sample) << ". Into " << megabytes(plan.budget)
            << ", beside the rest, fits " << fit.value() << ".\n\n";

  wave_workspace const work(g);
  field const truth = layered_ground(g), start = even_ground(g), velocity = even_ground(g);
  double const slope_error = gradient_error(exec, work, truth, velocity, plan.frequencies.front());
  std::cout << "The gradient agrees with finite differences of the misfit to " << scientific(slope_error, 0) << "\n\n";

  auto numbers = folder ? open_numbers(*folder, "updates.csv") : std::ofstream();
  if (folder) plan.numbers = &numbers;
  invert(exec, plan, work, truth, velocity);

  if (folder) {
    numbers.close();
    auto grounds = open_numbers(*folder, "grounds.csv");
    write_grounds(grounds, g, truth, start, velocity);
    grounds.close();
    draw("inversion/grounds.gp", *folder);
    draw("support/loss.gp", *folder);
  }
  double const before = distance(g, start, truth), after = distance(g, velocity, truth);
  double const held = static_cast<double>(peak_bytes(watch)) / 1e6;
  std::cout << "Model error: " << fixed(1000 * after, 0) << " m/s, " << fixed(100 * after / before, 0)
            << " % of that of the start. Most memory of all views: " << fixed(held, 0) << " MB\n";
  return slope_error < 5e-3 && after <= before / 2 && 1e6 * held <= static_cast<double>(plan.budget);
}

}  // namespace

int main(int argc, char* argv[]) {
  try {
    arguments const given(argc, argv, {"--quick", "--help"}, {"--budget", "--draw"});
    if (given.has("--help")) {
      std::cout << usage;
      return 0;
    }
    Kokkos::ScopeGuard const kokkos(argc, argv);
    accrue::memory_watch const watch;
    inversion_plan plan = given.has("--quick") ? quick_plan() : inversion_plan{};
    plan.budget = static_cast<std::int64_t>(1e6 * given.number("--budget", static_cast<double>(plan.budget) / 1e6));
    return run(plan, watch, given.value("--draw")) ? 0 : 1;
  } catch (std::invalid_argument const& problem) {
    std::cerr << "inversion: " << problem.what() << "\n\n" << usage;
    return 2;
  } catch (std::exception const& problem) {
    std::cerr << "inversion: " << problem.what() << '\n';
    return 2;
  }
}

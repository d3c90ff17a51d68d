// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small batches that add up to a large one, on images: first the proof, then a training run.
#include <accrue/accrue.hpp>
#include <accrue/doctor/memory_watch.hpp>

#include <Kokkos_Core.hpp>
#include <exception>
#include <fstream>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>

#include "../support/arguments.hpp"
#include "../support/drawing.hpp"
#include "../support/format.hpp"
#include "../support/gradient_check.hpp"
#include "equality.hpp"
#include "image_set.hpp"
#include "memory.hpp"
#include "network.hpp"
#include "training.hpp"

namespace {

constexpr char const* usage = R"(usage: images --data FOLDER [--quick] [--target PERCENT] [--draw FOLDER]
       images --quick            with synthetic images
       images --memory ...       measures what training takes in memory, for five (m, A)

  --data FOLDER      train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
                     t10k-labels-idx1-ubyte, uncompressed: Fashion-MNIST, or your own images in that format
  --quick            a short training run, on at most 4000 images
  --target PERCENT   held-out accuracy that counts as success: 85 if not given, 70 with --quick
  --draw FOLDER      writes the run sheet there, and the record of every update as CSV, and draws the losses as
                     SVG with gnuplot
)";

examples::image_data load(examples::arguments const& given) {
  int const limit = given.has("--quick") ? 4000 : std::numeric_limits<int>::max();
  if (auto const folder = given.value("--data")) return examples::read_image_folder(*folder, limit);
  if (given.has("--quick")) return examples::synthetic_image_data();
  throw std::invalid_argument("there are no images to train on");
}

/// Returns whether everything that is claimed holds.
bool run(examples::image_data const& data, examples::training_plan const& plan, double target) {
  using namespace examples;
  execution const exec;
  network_shape const shape{data.training.pixels_each(), 128, data.training.classes};
  network const parameters(shape), gradient(shape);
  network_workspace const work(shape, 256);
  generator random(0);
  initialize(parameters, random);

  std::cout << data.description << ": " << data.training.size() << " for training, " << data.held_out.size()
            << " held out\n\n";
  if (data.training.size() < 256) throw std::runtime_error("256 training images are needed, there are fewer");
  auto const batch =
      Kokkos::subview(on_device(shuffled_order(data.training.size(), random)), Kokkos::pair<int, int>(0, 256));

  mean_gradient(exec, parameters, data.training, batch, work, gradient);
  double const slope_error = worst_slope_error(parameters.views(), gradient.views(),
                                               [&] { return mean_loss(exec, parameters, data.training, batch, work); });
  std::cout << "The backward pass agrees with finite differences of the loss to " << scientific(slope_error, 1)
            << "\n\n";
  bool const equal = groups_equal_full_batch(exec, parameters, data.training, batch, work, gradient);
  std::cout << (equal ? "All are equal within 1e-5.\n\n" : "They are NOT equal within 1e-5.\n\n");

  double const reached = 100 * train(exec, parameters, data, plan, work, gradient);
  std::cout << "Held-out accuracy " << fixed(reached, 2) << " % is " << (reached < target ? "BELOW " : "at least ")
            << target << " %.\n";
  return slope_error < 1e-2 && equal && reached >= target;
}

}  // namespace

int main(int argc, char* argv[]) {
  try {
    examples::arguments const given(argc, argv, {"--quick", "--memory", "--help"}, {"--data", "--target", "--draw"});
    if (given.has("--help")) {
      std::cout << usage;
      return 0;
    }
    Kokkos::ScopeGuard const kokkos(argc, argv);
    if (given.has("--memory")) return examples::memory_is_as_planned(load(given)) ? 0 : 1;
    accrue::memory_watch memory;
    examples::training_plan plan;
    plan.memory = &memory;
    if (given.has("--quick")) plan.epochs = 2;
    auto const data = load(given);
    auto const folder = given.value("--draw");
    auto numbers = folder ? examples::open_numbers(*folder, "updates.csv") : std::ofstream();
    auto sheet = folder ? examples::open_numbers(*folder, "run_sheet.md") : std::ofstream();
    if (folder) plan.numbers = &numbers, plan.sheet = &sheet;
    bool const right = run(data, plan, given.number("--target", given.has("--quick") ? 70 : 85));
    numbers.close();
    if (folder) std::cout << "Run sheet: " << *folder << "/run_sheet.md\n\n";
    if (folder) examples::draw("support/loss.gp", *folder);
    return right ? 0 : 1;
  } catch (std::invalid_argument const& problem) {
    std::cerr << "images: " << problem.what() << "\n\n" << usage;
    return 2;
  } catch (std::exception const& problem) {
    std::cerr << "images: " << problem.what() << '\n';
    return 2;
  }
}

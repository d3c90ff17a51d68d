// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_IMAGES_TRAINING_HPP
#define ACCRUE_EXAMPLES_IMAGES_TRAINING_HPP

#include <accrue/accrue.hpp>
#include <accrue/doctor/memory_watch.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "../support/format.hpp"
#include "../support/progress.hpp"
#include "../support/random.hpp"
#include "../support/run_sheet.hpp"
#include "network.hpp"

namespace examples {

struct training_plan {
  int microbatch_size = 64;
  int microbatches_per_group = 4;
  int epochs = 5;
  double learning_rate = 2e-3;
  double max_norm = 1.0;
  std::ostream* numbers = nullptr;         // takes a line for each group, if there is one
  std::ostream* sheet = &std::cout;        // takes the run sheet
  accrue::memory_watch* memory = nullptr;  // watches groups, if there is one
};

/// Averages the losses that an accumulator records for its groups.
class loss_average {
 public:
  void group_recorded(accrue::record const& group) {
    sum_ += group.loss.value_or(0.0) * group.weight;
    weight_ += group.weight;
  }

  /// Since the last call.
  double take() {
    double const average = sum_ / weight_;
    sum_ = weight_ = 0;
    return average;
  }

 private:
  double sum_ = 0;
  double weight_ = 0;
};

inline Kokkos::View<int*> on_device(std::vector<int> const& values) {
  Kokkos::View<int*> const copy("examples::numbers", values.size());
  Kokkos::View<int const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const host(values.data(),
                                                                                                  values.size());
  Kokkos::deep_copy(copy, host);
  return copy;
}

/// Trains `parameters` in place, prints a line for each epoch, writes the run sheet, and returns the held-out accuracy.
inline double train(execution const& exec, network const& parameters, image_data const& data, training_plan plan,
                    network_workspace const& work, network const& gradient) {
  accrue::accumulator group(exec,
                            accrue::parameters(parameters.hidden.weight, parameters.hidden.bias,
                                               parameters.output.weight, parameters.output.bias),
                            accrue::per_sample{}, accrue::every{plan.microbatches_per_group}, accrue::keep_last{},
                            accrue::clip_by_global_norm{.max_norm = plan.max_norm},
                            accrue::adam{.learning_rate = plan.learning_rate});
  loss_average training_loss;
  group.observe(std::ref(training_loss));
  if (plan.numbers != nullptr) group.observe(accrue::csv_writer(*plan.numbers));
  accrue::run_history history;
  group.observe(std::ref(history));
  if (plan.memory != nullptr) plan.memory->groups_of(group);

  generator random(3);
  double held_out_accuracy = 0;
  int const images = data.training.size();
  for (int epoch = 1; epoch <= plan.epochs; ++epoch) {
    double const rest = static_cast<double>(plan.epochs - epoch + 1) / plan.epochs;
    group.change_rule(accrue::adam{.learning_rate = rest * plan.learning_rate});  // falls linearly
    progress bar("epoch " + std::to_string(epoch), images, "images");
    auto const order = on_device(shuffled_order(images, random));
    for (int first = 0; first < images; first += plan.microbatch_size) {
      int const last = std::min(first + plan.microbatch_size, images);
      auto const batch = Kokkos::subview(order, Kokkos::pair<int, int>(first, last));
      double const loss = mean_gradient(exec, parameters, data.training, batch, work, gradient);
      group.accumulate(accrue::mean_gradient{gradient.hidden.weight, gradient.hidden.bias, gradient.output.weight,
                                             gradient.output.bias},
                       accrue::samples{last - first}, accrue::mean_loss{loss});
      if (group.full()) group.update();
      bar.show(last);
    }
    group.end_of_data();
    bar.clear();
    held_out_accuracy = accuracy(exec, parameters, data.held_out, work);
    std::cout << "epoch " << epoch << ": " << group.ledger().applied() << " applied, training loss "
              << fixed(training_loss.take(), 4) << ", held-out accuracy " << fixed(100 * held_out_accuracy, 2)
              << " %\n";
  }
  std::cout << '\n';
  write_markdown(*plan.sheet, run_sheet_of(group, history,
                                           {.microbatch = accrue::samples{plan.microbatch_size},
                                            .group = accrue::microbatches{plan.microbatches_per_group},
                                            .replicas = 1,
                                            .samples = accrue::samples{std::int64_t{plan.epochs} * images}},
                                           plan.memory));
  if (plan.sheet == &std::cout) std::cout << '\n';
  return held_out_accuracy;
}

}  // namespace examples
#endif

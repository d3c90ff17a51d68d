// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_IMAGES_MEMORY_HPP
#define ACCRUE_EXAMPLES_IMAGES_MEMORY_HPP

#include <Kokkos_Core.hpp>

#include "../support/memory_check.hpp"
#include "image_set.hpp"
#include "network.hpp"
#include "training.hpp"

namespace examples {

inline image_set first_images(image_set const& all, int count) {
  return {Kokkos::subview(all.pixels, Kokkos::pair<int, int>(0, count), Kokkos::ALL),
          Kokkos::subview(all.labels, Kokkos::pair<int, int>(0, count)), all.classes};
}

/// The memory model against a training run of one group of 256 images, cut in five ways. The images are there before.
inline bool memory_is_as_planned(image_data const& all) {
  constexpr int batch = 256;
  image_data const data{first_images(all.training, batch), first_images(all.held_out, batch), all.description};
  network_shape const shape{data.training.pixels_each(), 128, data.training.classes};

  accrue::plan::model_sizes sizes;
  sizes.elements = (shape.pixels + 1) * shape.hidden_units + (shape.hidden_units + 1) * shape.classes;
  sizes.activation_bytes = 4 * (shape.pixels + 2 * shape.hidden_units + shape.classes + 1);
  return memory_model_holds(sizes, batch, {8, 32, 64, 128, 256}, [&](int m, int a) {
    network const parameters(shape), gradient(shape);
    network_workspace const work(shape, m);
    generator random(0);
    initialize(parameters, random);
    training_plan plan;
    plan.microbatch_size = m;
    plan.microbatches_per_group = a;
    plan.epochs = 1;
    train(execution(), parameters, data, plan, work, gradient);
  });
}

}  // namespace examples
#endif

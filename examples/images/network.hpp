// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A multilayer perceptron for images: pixels, one hidden layer of rectified units, softmax.
#ifndef ACCRUE_EXAMPLES_IMAGES_NETWORK_HPP
#define ACCRUE_EXAMPLES_IMAGES_NETWORK_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <tuple>

#include "../support/dense_layer.hpp"
#include "../support/random.hpp"
#include "../support/softmax_cross_entropy.hpp"
#include "image_set.hpp"

namespace examples {

struct network_shape {
  int pixels, hidden_units, classes;
};

/// The parameters, or their gradients.
struct network {
  dense_layer hidden, output;

  explicit network(network_shape shape)
      : hidden(shape.pixels, shape.hidden_units), output(shape.hidden_units, shape.classes) {}

  [[nodiscard]] std::tuple<matrix, vector, matrix, vector> views() const {
    return {hidden.weight, hidden.bias, output.weight, output.bias};
  }
};

inline void initialize(network const& parameters, generator& random) {
  initialize(parameters.hidden, random);
  initialize(parameters.output, random);
}

using image_numbers = Kokkos::View<int const*>;  // which images a batch is made of

/// What a pass computes on its way; made once, for the largest batch.
struct network_workspace {
  matrix input, hidden, hidden_gradient, logits;
  Kokkos::View<int*> targets;

  network_workspace(network_shape shape, int capacity)
      : input("examples::input", capacity, shape.pixels),
        hidden("examples::hidden", capacity, shape.hidden_units),
        hidden_gradient("examples::hidden_gradient", capacity, shape.hidden_units),
        logits("examples::logits", capacity, shape.classes),
        targets("examples::targets", capacity) {}

  /// The same memory, seen as the workspace of a smaller batch.
  [[nodiscard]] network_workspace of(int size) const {
    network_workspace part = *this;
    for (matrix* const each : {&part.input, &part.hidden, &part.hidden_gradient, &part.logits})
      *each = first_rows(*each, size);
    part.targets = Kokkos::subview(targets, Kokkos::pair<int, int>(0, size));
    return part;
  }
};

inline void gather(execution const& exec, image_set const& images, image_numbers batch, network_workspace const& to) {
  auto const pixels = images.pixels;
  auto const labels = images.labels;
  auto const input = to.input;
  auto const targets = to.targets;
  Kokkos::parallel_for(
      "examples::gather",
      Kokkos::MDRangePolicy<execution, Kokkos::Rank<2>>(exec, {0, 0}, {input.extent(0), input.extent(1)}),
      KOKKOS_LAMBDA(int i, int p) {
        input(i, p) = static_cast<float>(pixels(batch(i), p)) / 255.0f;
        if (p == 0) targets(i) = labels(batch(i));
      });
}

inline void rectify(execution const& exec, matrix const& values) {
  Kokkos::parallel_for(
      "examples::rectify",
      Kokkos::MDRangePolicy<execution, Kokkos::Rank<2>>(exec, {0, 0}, {values.extent(0), values.extent(1)}),
      KOKKOS_LAMBDA(int i, int j) { values(i, j) = Kokkos::max(values(i, j), 0.0f); });
}

inline void rectify_backward(execution const& exec, matrix const& rectified, matrix const& gradient) {
  Kokkos::parallel_for(
      "examples::rectify_backward",
      Kokkos::MDRangePolicy<execution, Kokkos::Rank<2>>(exec, {0, 0}, {gradient.extent(0), gradient.extent(1)}),
      KOKKOS_LAMBDA(int i, int j) {
        if (rectified(i, j) <= 0) gradient(i, j) = 0;
      });
}

/// Leaves the logits of the batch in the workspace.
inline void forward(execution const& exec, network const& parameters, image_set const& images, image_numbers batch,
                    network_workspace const& work) {
  gather(exec, images, batch, work);
  forward(exec, parameters.hidden, work.input, work.hidden);
  rectify(exec, work.hidden);
  forward(exec, parameters.output, work.hidden, work.logits);
}

/// Returns the mean loss of the batch and leaves its gradient in place of the logits; fences.
inline double mean_loss(execution const& exec, network const& parameters, image_set const& images, image_numbers batch,
                        network_workspace const& work) {
  auto const size = static_cast<int>(batch.extent(0));
  forward(exec, parameters, images, batch, work);
  return softmax_cross_entropy(exec, work.logits, work.targets, 1.0f / static_cast<float>(size)) / size;
}

/// Overwrites `gradient` with the gradient of the batch's mean loss, and returns that loss; fences.
inline double mean_gradient(execution const& exec, network const& parameters, image_set const& images,
                            image_numbers batch, network_workspace const& all, network const& gradient) {
  network_workspace const work = all.of(static_cast<int>(batch.extent(0)));
  double const loss = mean_loss(exec, parameters, images, batch, work);
  backward(exec, work.hidden, work.logits, gradient.output);
  backward_to_input(exec, parameters.output, work.logits, work.hidden_gradient);
  rectify_backward(exec, work.hidden, work.hidden_gradient);
  backward(exec, work.input, work.hidden_gradient, gradient.hidden);
  return loss;
}

/// The share of all images that are classified correctly.
inline double accuracy(execution const& exec, network const& parameters, image_set const& images,
                       network_workspace const& all) {
  auto const capacity = static_cast<int>(all.input.extent(0));
  Kokkos::View<int*> const numbers("examples::numbers", images.size());
  Kokkos::parallel_for(
      "examples::number", Kokkos::RangePolicy<execution>(exec, 0, images.size()),
      KOKKOS_LAMBDA(int i) { numbers(i) = i; });
  int correct = 0;
  for (int first = 0; first < images.size(); first += capacity) {
    int const last = std::min(first + capacity, images.size());
    network_workspace const work = all.of(last - first);
    forward(exec, parameters, images, Kokkos::subview(numbers, Kokkos::pair<int, int>(first, last)), work);
    correct += correct_rows(exec, work.logits, work.targets);
  }
  return static_cast<double>(correct) / images.size();
}

}  // namespace examples
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fully connected layer: output = input * weight + bias.
#ifndef ACCRUE_EXAMPLES_SUPPORT_DENSE_LAYER_HPP
#define ACCRUE_EXAMPLES_SUPPORT_DENSE_LAYER_HPP

#include <Kokkos_Core.hpp>

#include "matrix_product.hpp"

namespace examples {

using execution = Kokkos::DefaultExecutionSpace;
using matrix = Kokkos::View<float**>;
using vector = Kokkos::View<float*>;

/// The parameters of a layer, or their gradients: the two have the same shape.
struct dense_layer {
  matrix weight;  // inputs by outputs
  vector bias;

  dense_layer(int inputs, int outputs) : weight("examples::weight", inputs, outputs), bias("examples::bias", outputs) {}
};

inline void forward(execution const& exec, dense_layer const& layer, matrix const& input, matrix const& output) {
  matrix_product(exec, input, layer.weight, output);
  vector const bias = layer.bias;
  Kokkos::parallel_for(
      "examples::add_bias",
      Kokkos::MDRangePolicy<execution, Kokkos::Rank<2>>(exec, {0, 0}, {output.extent(0), output.extent(1)}),
      KOKKOS_LAMBDA(int i, int j) { output(i, j) += bias(j); });
}

/// Overwrites `gradient`, given the gradient of the layer's output.
inline void backward(execution const& exec, matrix const& input, matrix const& output_gradient,
                     dense_layer const& gradient) {
  matrix_product(exec, transposed(input), output_gradient, gradient.weight);
  vector const bias = gradient.bias;
  Kokkos::parallel_for(
      "examples::bias_gradient", Kokkos::RangePolicy<execution>(exec, 0, bias.extent(0)), KOKKOS_LAMBDA(int j) {
        float sum = 0;
        for (int i = 0; i < static_cast<int>(output_gradient.extent(0)); ++i) sum += output_gradient(i, j);
        bias(j) = sum;
      });
}

/// The gradient of the layer's input, for the layer below.
inline void backward_to_input(execution const& exec, dense_layer const& layer, matrix const& output_gradient,
                              matrix const& input_gradient) {
  matrix_product(exec, output_gradient, transposed(layer.weight), input_gradient);
}

/// The first rows of a workspace that was made for the largest batch.
inline matrix first_rows(matrix const& all, int rows) {
  return Kokkos::subview(all, Kokkos::pair<int, int>(0, rows), Kokkos::ALL);
}

}  // namespace examples
#endif

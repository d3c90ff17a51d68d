// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Seeded randomness that is the same with every standard library: its distributions are not, its engines are.
#ifndef ACCRUE_EXAMPLES_SUPPORT_RANDOM_HPP
#define ACCRUE_EXAMPLES_SUPPORT_RANDOM_HPP

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "dense_layer.hpp"

namespace examples {

using generator = std::mt19937;

/// In [-1, 1).
inline float uniform(generator& random) {
  return static_cast<float>(static_cast<double>(random()) / 2147483648.0 - 1.0);
}

inline void shuffle(std::vector<int>& values, generator& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random() % i]);
}

/// 0, 1, ..., count - 1 in random order.
inline std::vector<int> shuffled_order(int count, generator& random) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, random);
  return order;
}

inline void fill_uniform(matrix const& values, float bound, generator& random) {
  auto const host = Kokkos::create_mirror_view(values);
  for (std::size_t i = 0; i < host.extent(0); ++i)
    for (std::size_t j = 0; j < host.extent(1); ++j) host(i, j) = bound * uniform(random);
  Kokkos::deep_copy(values, host);
}

/// Weights that keep the size of the signal from layer to layer (Glorot and Bengio, 2010); biases are zero.
inline void initialize(dense_layer const& layer, generator& random) {
  auto const fan = static_cast<float>(layer.weight.extent(0) + layer.weight.extent(1));
  fill_uniform(layer.weight, std::sqrt(6.0f / fan), random);
  Kokkos::deep_copy(layer.bias, 0.0f);
}

}  // namespace examples
#endif

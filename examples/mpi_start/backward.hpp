// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_MPI_START_BACKWARD_HPP
#define ACCRUE_EXAMPLES_MPI_START_BACKWARD_HPP

#include <Kokkos_Core.hpp>

namespace examples {

using vector = Kokkos::View<float*>;
using scalar = Kokkos::View<float>;

constexpr int features = 3;

/// Sample i: some numbers, and a label that is 1, 2 and 3 times these.
KOKKOS_INLINE_FUNCTION float feature(int i, int k) {
  return 0.25f * static_cast<float>((i * (k + 3) + i / 5 + k) % 9) - 1.0f;
}
KOKKOS_INLINE_FUNCTION float label(int i) { return feature(i, 0) + 2 * feature(i, 1) + 3 * feature(i, 2); }

/// Stands for forward and backward pass: the mean gradient of `scale` times the loss, and the mean loss.
template <class Weights>
void backward(Weights const& weights, int first, int last, Kokkos::View<float const> const& scale,
              Weights const& gradient, scalar const& loss) {
  Kokkos::parallel_for(
      "backward", 1, KOKKOS_LAMBDA(int) {
        float sums[features] = {}, squares = 0;
        for (int i = first; i < last; ++i) {
          float error = -label(i);
          for (int k = 0; k < features; ++k) error += float(weights(k)) * feature(i, k);
          for (int k = 0; k < features; ++k) sums[k] += error * feature(i, k);
          squares += error * error / 2;
        }
        float const count = static_cast<float>(last - first);
        loss() = squares / count;
        for (int k = 0; k < features; ++k)
          gradient(k) = typename Weights::non_const_value_type(scale() * sums[k] / count);
      });
}
inline void backward(vector const& weights, int first, int last, vector const& gradient, scalar const& loss) {
  scalar const one("one");
  Kokkos::deep_copy(one, 1.0f);
  backward(weights, first, last, one, gradient, loss);
}

}  // namespace examples
#endif

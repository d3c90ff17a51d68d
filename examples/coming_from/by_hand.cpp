// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accumulation as one writes it by hand with Kokkos, and the same converted: side by side, on microbatches of 4 and 2.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>

using vector = Kokkos::View<double*>;

constexpr int width = 3;
constexpr int samples = 10;
constexpr double learning_rate = 0.5, max_norm = 100.0;

KOKKOS_FUNCTION double target(int sample, int k) { return sample * (k + 1); }

/// Half the squared distance from the targets, as a mean over the microbatch: its gradient.
void backward(vector const& theta, int first, int last, vector const& gradient) {
  Kokkos::parallel_for(
      "backward", width, KOKKOS_LAMBDA(int k) {
        gradient(k) = 0;
        for (int i = first; i < last; ++i) gradient(k) += (theta(k) - target(i, k)) / (last - first);
      });
}

vector by_hand() {
  vector const theta("theta", width), gradient("gradient", width), sum("sum", width);
  int held = 0;
  for (int first = 0; first < samples; first += 4) {
    int const last = std::min(first + 4, samples);
    backward(theta, first, last, gradient);
    Kokkos::parallel_for(
        "add", width, KOKKOS_LAMBDA(int k) { sum(k) += gradient(k) * (last - first); });
    held += last - first;
  }
  double squares = 0;
  Kokkos::parallel_reduce(
      "norm", width, KOKKOS_LAMBDA(int k, double& s) { s += sum(k) * sum(k); }, squares);
  double const norm = std::sqrt(squares) / held;
  double const factor = std::min(1.0, max_norm / norm) / held;  // NaN is not less than 1
  Kokkos::parallel_for(
      "update", width, KOKKOS_LAMBDA(int k) { theta(k) -= learning_rate * factor * sum(k); });
  Kokkos::deep_copy(sum, 0);
  return theta;
}

vector converted() {
  vector const theta("theta", width), gradient("gradient", width);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::keep_last{},
                            accrue::clip_by_global_norm{.max_norm = max_norm},
                            accrue::sgd{.learning_rate = learning_rate});
  for (int first = 0; first < samples; first += 4) {
    int const last = std::min(first + 4, samples);
    backward(theta, first, last, gradient);
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{last - first});
  }
  group.update();
  return theta;
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  auto const theirs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, by_hand());
  auto const ours = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, converted());
  bool right = true;
  for (int k = 0; k < width; ++k) {
    std::cout << theirs(k) << ' ' << ours(k) << '\n';
    double const wanted = learning_rate * 4.5 * (k + 1);  // half of the way to the mean of 0 ... 9, k + 1 times
    right = right && std::abs(ours(k) - wanted) < 1e-12 && std::abs(theirs(k) - wanted) < 1e-12;
  }
  return right ? 0 : 1;
}

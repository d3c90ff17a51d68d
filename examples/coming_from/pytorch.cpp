// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A PyTorch loop with accumulation, converted: 10 samples in microbatches of 4, 4 and 2 make one update.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <iostream>

using vector = Kokkos::View<double*>;

/// The targets of all samples. Their mean is what a model of one parameter has to learn.
KOKKOS_FUNCTION double target(int sample) { return sample; }

/// Half the squared distance from the targets, as a mean over the microbatch: its gradient.
void backward(vector const& theta, int first, int last, vector const& gradient) {
  Kokkos::parallel_for(
      "backward", 1, KOKKOS_LAMBDA(int) {
        gradient(0) = 0;
        for (int i = first; i < last; ++i) gradient(0) += (theta(0) - target(i)) / (last - first);
      });
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  vector const theta("theta", 1), gradient("gradient", 1);

  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::every{3}, accrue::keep_last{},
                            accrue::clip_by_global_norm{.max_norm = 5.0}, accrue::sgd{.learning_rate = 1.0});

  for (int first = 0; first < 10; first += 4) {
    int const last = std::min(first + 4, 10);
    backward(theta, first, last, gradient);  // of the loss as it is, not of loss / 3
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{last - first});
    if (group.full()) group.update();  // clips, updates, and begins anew
  }
  group.end_of_data();

  double const learned = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, theta)(0);
  std::cout << learned << '\n';
  return learned == 4.5 ? 0 : 1;  // the mean of 0 ... 9; a mean of means 5.17 and so clipped, of loss / 3 again 1.5
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fits a line to 30 points in microbatches of 4, with an update every 3 microbatches: nothing divides evenly.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>

using vector = Kokkos::View<double*>;
using scalar = Kokkos::View<double>;

/// Stands for a backward pass: writes the mean gradient and the mean loss of the points from `first` to before `last`.
void backward(vector const& line, int first, int last, vector const& gradient, scalar const& loss) {
  Kokkos::parallel_for(
      "backward", 1, KOKKOS_LAMBDA(int) {
        gradient(0) = gradient(1) = loss() = 0;
        for (int i = first; i < last; ++i) {
          double const x = 0.1 * i, wanted = 3 * x - 1;
          double const error = line(0) * x + line(1) - wanted;
          gradient(0) += error * x / (last - first);
          gradient(1) += error / (last - first);
          loss() += error * error / 2 / (last - first);
        }
      });
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  vector const line("line", 2), gradient("gradient", 2);
  scalar const loss("loss");

  accrue::accumulator group(accrue::parameters(line), accrue::per_sample{}, accrue::every{3}, accrue::keep_last{},
                            accrue::clip_by_global_norm{.max_norm = 10.0}, accrue::adam{.learning_rate = 0.1});

  for (int pass = 0; pass < 100; ++pass) {
    for (int first = 0; first < 30; first += 4) {
      int const last = std::min(first + 4, 30);
      backward(line, first, last, gradient, loss);
      group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{last - first}, accrue::mean_loss{loss});
      if (group.full()) group.update();
    }
    group.end_of_data();  // a group of two microbatches, of 4 and of 2 points
  }

  accrue::record const last = group.ledger().records().back();
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, line);
  std::cout << "y = " << host(0) << " x + " << host(1) << '\n' << last << '\n' << group.ledger() << '\n';
  return std::abs(host(0) - 3) < 0.05 && std::abs(host(1) + 1) < 0.05 ? 0 : 1;
}

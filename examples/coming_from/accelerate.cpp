// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An Accelerate loop, converted: 5 microbatches, an update every 2, and a last group of one microbatch.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <iostream>

using vector = Kokkos::View<double*>;

/// Half the squared distance from one target: the gradient of a microbatch.
void backward(vector const& theta, double target, vector const& gradient) {
  Kokkos::parallel_for(
      "backward", 1, KOKKOS_LAMBDA(int) { gradient(0) = theta(0) - target; });
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  vector const theta("theta", 1), gradient("gradient", 1);

  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::every{2}, accrue::keep_last{},
                            accrue::clip_by_global_norm{.max_norm = 4.0}, accrue::sgd{.learning_rate = 1.0});

  for (double const target : {2.0, 10.0, 3.0, 5.0, 8.0}) {
    backward(theta, target, gradient);
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{16});
    if (group.full()) group.update();
  }
  group.end_of_data();

  // To 4, as 6 is clipped; to the mean of 3 and 5, which is 4; to 8. Divided by 2, the last group ends at 6.
  double const learned = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, theta)(0);
  std::cout << learned << '\n' << group.ledger() << '\n';
  return learned == 8 && group.ledger().applied() == accrue::updates{3} ? 0 : 1;
}

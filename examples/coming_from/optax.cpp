// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// optax.MultiSteps, converted: a mean of the microbatches' means, which goes on over the end of the data.
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

  accrue::accumulator group(accrue::parameters(theta), accrue::per_microbatch{}, accrue::running{}, accrue::every{2},
                            accrue::carry_last{}, accrue::sgd{.learning_rate = 1.0});

  for (int pass = 0; pass < 2; ++pass) {
    for (double const target : {2.0, 4.0, 6.0, 8.0, 10.0}) {
      backward(theta, target, gradient);
      group.accumulate(accrue::mean_gradient{gradient});
      if (group.full()) group.update();
    }
    group.end_of_data();
  }

  // The third group is 10 of the first pass and 2 of the second: 5 updates, where groups that end with the data make 6.
  double const learned = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, theta)(0);
  std::cout << learned << '\n' << group.ledger() << '\n';
  return learned == 9 && group.ledger().applied() == accrue::updates{5} ? 0 : 1;
}

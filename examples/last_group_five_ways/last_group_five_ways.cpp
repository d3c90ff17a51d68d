// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ten microbatches in groups of four, twice: what becomes of the two that are left at the end of each pass.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <iomanip>
#include <iostream>
#include <string>

/// Two passes with a gradient of 1 each time: a full group moves theta by -1. Returns theta.
template <class LastGroup>
double train(LastGroup last_group) {
  Kokkos::View<double> const theta("theta"), gradient("gradient");
  Kokkos::deep_copy(gradient, 1.0);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::every{4}, last_group,
                            accrue::sgd{.learning_rate = 1.0});

  std::string refused;
  for (int pass = 0; pass < 2 && refused.empty(); ++pass) {
    for (int microbatch = 0; microbatch < 10; ++microbatch) {
      group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
      if (group.full()) group.update();
    }
    try {
      group.end_of_data();
    } catch (accrue::error const& problem) {
      refused = problem.what();
    }
  }

  double const reached = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, theta)();
  accrue::ledger const& book = group.ledger();
  std::cout << std::left << std::setw(14) << last_group << std::right << std::setw(7) << book.applied().value()
            << std::setw(8) << reached << std::setw(10) << book.dropped().microbatches.value() << std::setw(11)
            << group.held().value() << '\n';
  if (!refused.empty()) std::cout << "  " << refused << '\n';
  return reached;
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  std::cout << std::setw(21) << "updates" << std::setw(8) << "theta" << std::setw(10) << "dropped" << std::setw(11)
            << "still open" << '\n';
  bool const right = train(accrue::keep_last{}) == -6      // the two count as a whole group
                     && train(accrue::drop_last{}) == -4   // they count nothing
                     && train(accrue::carry_last{}) == -5  // with two of the next pass they make a group
                     && train(accrue::pad_last{}) == -5    // they count half, as if two had been zero
                     && train(accrue::refuse_last{}) == -2;
  return right ? 0 : 1;
}

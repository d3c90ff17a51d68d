// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A training loop that looks right and is not: the doctor says what is wrong with it, and finds nothing in accrue's.
#include <accrue/accrue.hpp>
#include <accrue/doctor/examine_loop.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <iostream>
#include <vector>

namespace doctor = accrue::doctor;
using doctor::examples;
using vector = Kokkos::View<double*, Kokkos::HostSpace>;

constexpr int microbatches = 4;  // in a group

/// Example e is a series of 1 to 7 points, of which each counts alike.
int points(std::int64_t e) { return 1 + static_cast<int>(5 * e % 7); }

/// Stands for a backward pass: writes the gradient of the mean loss of all points of some examples, returns that loss.
double backward(vector const& line, examples const& chosen, vector const& gradient, int& count) {
  double loss = 0;
  gradient(0) = gradient(1) = 0;
  count = 0;
  for (auto const e : chosen)
    for (int i = 0; i < points(e); ++i, ++count) {
      double const x = 0.1 * static_cast<double>(e) + i, error = line(0) * x + line(1) - (3 * x - 1);
      gradient(0) += error * x;
      gradient(1) += error;
      loss += error * error / 2;
    }
  gradient(0) /= count;
  gradient(1) /= count;
  return loss / count;
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  vector const line("line", 2), gradient("gradient", 2), sum("sum", 2);
  auto const parameters = accrue::parameters(line);

  auto const microbatch = [&](examples const& chosen) {
    int count = 0;
    double const loss = backward(line, chosen, gradient, count);
    return doctor::microbatch(accrue::mean_gradient{gradient}, accrue::tokens{count}, accrue::mean_loss{loss});
  };
  doctor::loop_terms const terms{.mean = doctor::mean_over::tokens, .microbatches = microbatches};

  auto const by_hand = [&](doctor::group const& group) {
    int count = 0;
    Kokkos::deep_copy(sum, 0.0);
    for (examples const& chosen : group.microbatches) {
      backward(line, chosen, gradient, count);
      for (int j = 0; j < 2; ++j) sum(j) += gradient(j) / microbatches;
    }
    return doctor::gradient(sum);
  };
  doctor::report const of_hand = doctor::examine_loop(parameters, microbatch, by_hand, accrue::samples{20}, terms);
  std::cout << "By hand: " << of_hand << '\n';

  doctor::gradient received;
  accrue::accumulator group(
      Kokkos::DefaultHostExecutionSpace{}, parameters, accrue::per_token{},
      accrue::with_gradient([&](auto const& g) { received = doctor::gradient(g.template get<0>()); }));
  auto const by_accrue = [&](doctor::group const& asked) {
    int count = 0;
    for (examples const& chosen : asked.microbatches) {
      backward(line, chosen, gradient, count);
      group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{count});
    }
    group.update();
    return received;
  };
  doctor::report const of_accrue = doctor::examine_loop(parameters, microbatch, by_accrue, accrue::samples{20}, terms);
  std::cout << "\nBy accrue: " << of_accrue << '\n';

  using enum doctor::diagnosis;
  bool const named = of_hand.diagnoses() == std::vector{mean_of_means, last_group_divided_by_full};
  return named && of_accrue.healthy() ? 0 : 1;
}

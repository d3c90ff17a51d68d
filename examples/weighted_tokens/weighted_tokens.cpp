// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Three answers of unequal length whose tokens count differently: what each normalization makes of them.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <vector>

struct token {
  double gradient, weight;  // of its loss by the one parameter; what the loss counts
};
using line = std::vector<token>;

/// The last token of each line is the answer and counts four times; one that is cut off counts nothing.
std::vector<line> const lines = {
    {{1, 1}, {3, 4}}, {{2, 1}, {2, 1}, {2, 1}, {2, 1}, {2, 1}, {6, 4}}, {{9, 1}, {7, 0}, {5, 4}}};

/// What the lines give, one a microbatch, under a normalization.
template <class Normalization>
double accumulated(Normalization normalization, bool weighted) {
  Kokkos::View<double> const theta("theta"), gradient("gradient");
  accrue::accumulator group(accrue::parameters(theta), normalization, accrue::sgd{.learning_rate = 1.0});
  for (line const& each : lines) {
    double sum = 0, weight = 0;
    for (token const& t : each) {
      sum += (weighted ? t.weight : 1) * t.gradient;
      weight += weighted ? t.weight : 1;
    }
    Kokkos::deep_copy(gradient, sum / weight);  // a loss is usually a mean
    group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{each.size()}, accrue::weight{weight});
  }
  group.update();
  return -Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, theta)();
}

/// What one pass over all tokens gives.
double at_once(bool weighted) {
  double sum = 0, weight = 0;
  for (line const& each : lines)
    for (token const& t : each) {
      sum += (weighted ? t.weight : 1) * t.gradient;
      weight += weighted ? t.weight : 1;
    }
  return sum / weight;
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  bool right = true;
  auto const row = [&right](char const* name, double found, double all, bool equal) {
    std::cout << std::left << std::setw(38) << name << std::right << std::setw(8) << found << std::setw(16) << all
              << (equal ? "" : "   differs") << '\n';
    right = right && (std::abs(found - all) < 1e-12) == equal;
  };
  std::cout << std::fixed << std::setprecision(4) << std::setw(46) << "3 microbatches" << std::setw(16) << "all at once"
            << '\n';
  row("per_token", accumulated(accrue::per_token{}, false), at_once(false), true);
  row("weighted, by the sum of the weights", accumulated(accrue::weighted{}, true), at_once(true), true);
  row("per_token, of weighted losses", accumulated(accrue::per_token{}, true), at_once(true), false);
  row("per_microbatch: the mean of means", accumulated(accrue::per_microbatch{}, true), at_once(true), false);
  return right ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Eight samples, one of them wild: where a clip is placed, and how the samples are cut, decides what it does.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <iomanip>
#include <iostream>

using pair = std::array<double, 2>;

/// The gradients of the samples.
constexpr std::array<pair, 8> samples{{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {32, 1}}};

/// The gradient that the update rule gets, of microbatches of `size` samples.
template <class Clip>
pair clipped(Clip clip, int size) {
  Kokkos::View<double*> const theta("theta", 2), gradient("gradient", 2);
  auto const host = Kokkos::create_mirror_view(gradient);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, clip, accrue::sgd{.learning_rate = 1.0});
  for (int first = 0; first < 8; first += size) {
    for (std::size_t k = 0; k < 2; ++k) {
      host(k) = 0;
      for (int i = first; i < first + size; ++i) host(k) += samples[static_cast<std::size_t>(i)][k] / size;
    }
    Kokkos::deep_copy(gradient, host);
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{size});
  }
  group.update();
  auto const moved = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, theta);
  return {-moved(0), -moved(1)};
}

/// Prints a line, and returns whether the gradient of 8 microbatches is that of 2.
template <class Clip>
bool same_for_every_split(char const* name, Clip clip) {
  pair const of_two = clipped(clip, 4), of_eight = clipped(clip, 1);
  bool const same = std::abs(of_two[0] - of_eight[0]) < 1e-12 && std::abs(of_two[1] - of_eight[1]) < 1e-12;
  auto const show = [](pair const& g) {
    std::cout << std::setw(9) << g[0] << std::setw(7) << g[1] << std::setw(7) << std::hypot(g[0], g[1]);
  };
  std::cout << std::left << std::setw(30) << name << std::right;
  show(of_two);
  show(of_eight);
  std::cout << (same ? "   same" : "   other") << '\n';
  return same;
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  accrue::clip_by_global_norm const norm{.max_norm = 1.0};
  accrue::clip_by_value const value{.max_value = 1.0};
  std::cout << std::fixed << std::setprecision(3) << std::setw(53) << "2 microbatches of 4" << std::setw(23)
            << "8 microbatches of 1" << '\n'
            << std::setw(39) << "x" << std::setw(7) << "y" << std::setw(7) << "norm" << std::setw(9) << "x"
            << std::setw(7) << "y" << std::setw(7) << "norm" << '\n';

  bool const group = same_for_every_split("no clip", accrue::no_clip{}) &&
                     same_for_every_split("norm of the group", norm) &&  // the gradient of the large batch, shorter
                     same_for_every_split("value of the group", value);  // turned
  bool const microbatch = same_for_every_split("norm of each microbatch", accrue::on_microbatch(norm)) ||
                          same_for_every_split("value of each microbatch", accrue::on_microbatch(value));
  pair const g = clipped(norm, 1), wild_one_bounded = clipped(accrue::on_microbatch(norm), 1);
  return group && !microbatch && std::abs(g[0] / g[1] - 4) < 1e-12 && wild_one_bounded[0] < 0.125 ? 0 : 1;
}

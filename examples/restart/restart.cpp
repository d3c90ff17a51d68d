// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A training run that can be killed at any moment and goes on where it was, in the middle of a group too:
//
//   restart FILE   goes on from FILE if it is there, saves its state there every 5 microbatches, and removes it at the
//   end restart        shows that a run that is interrupted twice ends at the same parameters, bit for bit
#include <accrue/accrue.hpp>
#include <accrue/restart.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>

namespace {

using exec = Kokkos::DefaultExecutionSpace;
using array = Kokkos::View<double*>;

constexpr int width = 24;                // parameters
constexpr std::int64_t run_length = 96;  // microbatches
constexpr std::int64_t save_every = 5;   // of them; a group has 8

/// A number between 0 and 1 that depends on two others: the data need no file.
KOKKOS_INLINE_FUNCTION double noise(std::int64_t i, std::int64_t j) {
  return static_cast<double>((i * 7919 + j * 104729 + i * j) % 2003) / 2003.0;
}
KOKKOS_INLINE_FUNCTION double feature(int k, double x) {
  double const distance = (x - k / (width - 1.0)) * width / 2;
  return Kokkos::exp(-distance * distance);
}

/// Fits sin(6 x) by a sum of bells: the gradient and the loss of a microbatch, as means over its samples.
void backward(array const& theta, std::int64_t number, int samples, array const& gradient,
              Kokkos::View<double> const& loss) {
  auto const residual = KOKKOS_LAMBDA(int s) {
    double const x = noise(number, s);
    double sum = -Kokkos::sin(6 * x);
    for (int k = 0; k < width; ++k) sum += theta(k) * feature(k, x);
    return sum;
  };
  Kokkos::parallel_for(
      "gradient", Kokkos::RangePolicy<exec>(0, width), KOKKOS_LAMBDA(int k) {
        double slope = 0.0, squares = 0.0;
        for (int s = 0; s < samples; ++s) {
          double const r = residual(s);
          slope += 2 * r * feature(k, noise(number, s));
          squares += r * r;
        }
        gradient(k) = slope / samples;
        if (k == 0) loss() = squares / samples;
      });
}

/// Trains, saving to a file and going on from it, up to microbatch `until`. Returns the parameters where that is the
/// end.
array train(std::string const& file, std::int64_t until = run_length) {
  array const theta("theta", width), gradient("gradient", width);
  Kokkos::View<double> const loss("loss");
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::every{8}, accrue::keep_last{},
                            accrue::clip_by_global_norm{.max_norm = 1.0}, accrue::adamw{.learning_rate = 0.1});

  if (std::filesystem::exists(file)) {
    accrue::load_file(group, file);
    std::cout << "goes on after " << group.ledger().microbatches() << ", " << group.held() << " into a group\n";
  } else {
    std::cout << "begins\n";
  }

  // The ledger knows which microbatch is next; whatever else a run draws on, such as random numbers, depends on that.
  for (std::int64_t m = group.ledger().microbatches().value(); m < until; ++m) {
    int const samples = 20 + static_cast<int>(m % 13);
    backward(theta, m, samples, gradient, loss);
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{samples}, accrue::mean_loss{loss});
    if (group.full()) group.update();
    if ((m + 1) % save_every == 0) accrue::save_file(group, file);
  }
  if (until < run_length) {
    std::cout << "is interrupted after " << group.ledger().microbatches() << '\n';
    return {};
  }

  group.end_of_data();
  std::filesystem::remove(file);
  std::cout << "ends: " << group.ledger() << "\n      " << group.ledger().records().back() << '\n';
  return theta;
}

}  // namespace

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  try {
    if (argc > 1) {
      train(argv[1]);
      return 0;
    }
    auto const file = (std::filesystem::temp_directory_path() / "accrue_example_restart.state").string();
    std::filesystem::remove(file);
    auto const whole = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, train(file));
    train(file, 37);
    train(file, 78);
    auto const resumed = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, train(file));
    int different = 0;
    for (int k = 0; k < width; ++k) different += whole(k) == resumed(k) ? 0 : 1;
    std::cout << different << " of " << width << " parameters differ\n";
    return different == 0 ? 0 : 1;
  } catch (accrue::error const& refused) {
    std::cerr << refused.what() << '\n';
    return 1;
  }
}

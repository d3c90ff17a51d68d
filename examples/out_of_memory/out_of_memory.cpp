// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sequences of very different length, and memory for some of them at a time: where a microbatch does not fit, its group
// is started again in smaller ones, and the update is that of the same 32 sequences.
#include <accrue/accrue.hpp>
#include <accrue/doctor/memory_watch.hpp>
#include <accrue/fitting_microbatches.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <limits>
#include <new>

namespace {

using exec = Kokkos::DefaultExecutionSpace;
using array = Kokkos::View<double*>;

constexpr int width = 8;                   // parameters
constexpr std::int64_t sequences = 16384;  // of the data; a group has 32

/// How many tokens a sequence has: mostly a few, one in 512 very many.
KOKKOS_INLINE_FUNCTION std::int64_t length(std::int64_t sequence) {
  return sequence % 512 == 90 ? 600 : 20 + sequence % 7;
}

/// A device with so many bytes for views.
class small_device {
 public:
  explicit small_device(std::int64_t bytes) : bytes_(bytes) {}

  /// Failure: `std::bad_alloc`, as where the memory of a real device ends.
  [[nodiscard]] Kokkos::View<double**> allocate(std::int64_t rows, std::int64_t columns) const {
    std::int64_t held = 8 * rows * columns;
    for (accrue::memory_peak const& each : watch_.peaks()) held += each.current;
    if (held > bytes_) throw std::bad_alloc();
    return Kokkos::View<double**>("activations", static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
  }

 private:
  std::int64_t bytes_;
  accrue::memory_watch watch_;
};

struct model {
  array theta{"theta", width}, gradient{"gradient", width};
};

/// The gradient of the summed loss of some sequences, whose activations are as long as the longest of them. Returns how
/// many tokens they have.
std::int64_t backward(model const& of, small_device const& device, std::int64_t first, std::int64_t last) {
  std::int64_t longest = 0, tokens = 0;
  for (std::int64_t s = first; s < last; ++s) longest = std::max(longest, length(s)), tokens += length(s);
  auto const activations = device.allocate(last - first, longest);

  array const theta = of.theta, gradient = of.gradient;
  Kokkos::parallel_for(
      "forward", Kokkos::RangePolicy<exec, Kokkos::IndexType<std::int64_t>>(first, last),
      KOKKOS_LAMBDA(std::int64_t s) {
        for (std::int64_t t = 0; t < length(s); ++t) {
          double const x = static_cast<double>((s * 7919 + t * 104729) % 2003) / 2003.0;
          activations(s - first, t) = theta((s + t) % width) - x;
        }
      });
  Kokkos::parallel_for(
      "backward", Kokkos::RangePolicy<exec>(0, width), KOKKOS_LAMBDA(int k) {
        double sum = 0.0;
        for (std::int64_t s = first; s < last; ++s)
          for (std::int64_t t = 0; t < length(s); ++t)
            if ((s + t) % width == k) sum += activations(s - first, t);
        gradient(k) = sum;
      });
  return tokens;
}

/// Trains on a device with so many bytes, beginning with microbatches of 16 sequences.
array train(std::int64_t bytes, bool says_so) {
  small_device const device(bytes);
  model const of;
  accrue::accumulator group(accrue::parameters(of.theta), accrue::per_token{}, accrue::every{1}, accrue::keep_last{},
                            accrue::adam{.learning_rate = 1e-3});

  accrue::fitting_microbatches fit(accrue::samples{32}, accrue::samples{16});
  for (std::int64_t first = 0; first < sequences; first += 32) {
    std::int64_t const refills = fit.refills();
    fit.update(group, first, first + 32, [&](auto& filled, std::int64_t from, std::int64_t to) {
      std::int64_t const tokens = backward(of, device, from, to);
      filled.accumulate(accrue::sum_gradient{of.gradient}, accrue::tokens{tokens}, accrue::samples{to - from});
    });
    if (says_so && fit.refills() > refills)
      std::cout << "group " << first / 32 + 1 << " did not fit, now in " << fit.plan().group << " of "
                << fit.plan().microbatch << '\n';
  }
  if (says_so) std::cout << group.ledger() << '\n';
  if (group.ledger().samples() != accrue::samples{sequences}) std::cout << "examples were counted twice\n";
  return of.theta;
}

}  // namespace

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  try {
    auto const small = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, train(90'000, true));
    auto const large = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{},
                                                           train(std::numeric_limits<std::int64_t>::max(), false));
    double difference = 0.0;
    for (int k = 0; k < width; ++k) difference = std::max(difference, Kokkos::abs(small(k) - large(k)));
    std::cout << "parameters differ by " << difference << " from those trained in microbatches of 16\n";
    return difference < 1e-12 ? 0 : 1;
  } catch (accrue::error const& refused) {
    std::cerr << refused.what() << '\n';
    return 1;
  }
}

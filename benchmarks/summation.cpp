// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes of every summation, and of a gate that rejects microbatches, side by side: the first of a group; the
// second, in which bins still move; the fourth, for all in the middle; and the last, which measures.
#include "support.hpp"

#include <accrue/accrue.hpp>

#include <benchmark/benchmark.h>
#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace {

/// Magnitudes as gradients have them: over some thirty binary orders, other ones in every microbatch, and zeros.
struct fill_like_gradients {
  float* to;
  std::uint64_t seed;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::uint64_t x = (static_cast<std::uint64_t>(i) + seed) * 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    std::uint64_t const other = static_cast<std::uint64_t>(i) * 0xd1342543de82ef95 >> 40;  // of the element
    float const mantissa = static_cast<float>(static_cast<std::int64_t>(x >> 20 & 0xffffff) - 0x800000);
    to[i] = (x & 15) == 0 ? 0.0f : mantissa * Kokkos::exp2(-24.0f - static_cast<float>(other % 24));
  }
};

constexpr std::size_t microbatches = 5;
using passes = std::array<sample, microbatches>;

template <class Policy>
class candidate {
 public:
  explicit candidate(array const& theta) : group_(make(theta)) {}

  /// One group, each pass by itself.
  passes run(std::array<array, microbatches> const& gradients) {
    passes measured;
    for (std::size_t m = 0; m < microbatches; ++m)
      measured[m] = timed([&] { group_.accumulate(accrue::mean_gradient{gradients[m]}, accrue::tokens{512 + 8 * m}); });
    group_.update();
    return measured;
  }

 private:
  static auto make(array const& theta) {
    return accrue::accumulator(accrue::parameters(theta), accrue::per_token{}, accrue::every{microbatches}, Policy{},
                               accrue::sgd{});
  }
  decltype(make(std::declval<array const&>())) group_;
};

void passes_of_summations(benchmark::State& state) {
  constexpr std::size_t length = std::size_t{3} << 23;
  array const theta("theta", length);
  std::array<array, microbatches> gradients;
  for (std::size_t m = 0; m < microbatches; ++m) {
    gradients[m] = array("gradient", length);
    Kokkos::parallel_for(Kokkos::RangePolicy<Kokkos::IndexType<std::int64_t>>(0, length),
                         fill_like_gradients{gradients[m].data(), 1 + (m << 40)});
  }
  candidate<accrue::widened<>> plain(theta);
  candidate<accrue::widened<double>> in_double(theta);
  candidate<accrue::compensated> compensated(theta);
  candidate<accrue::order_independent> order_independent(theta);
  candidate<accrue::reject_microbatch> rejecting(theta);

  constexpr std::size_t policies = 4;
  constexpr std::array<char const*, policies> names{"compensated", "order_independent", "widened<double>",
                                                    "reject_microbatch"};
  struct which {
    char const* name;
    std::size_t pass;
  };
  constexpr std::array<which, 4> looked_at{{{"_first", 0}, {"_second", 1}, {"", 3}, {"_last", 4}}};
  std::array<std::array<std::vector<double>, microbatches>, policies> ratios, all;
  std::vector<double> reads;
  for (auto _ : state) {
    std::array<passes, policies> const own{compensated.run(gradients), order_independent.run(gradients),
                                           in_double.run(gradients), rejecting.run(gradients)};
    passes const beside = plain.run(gradients);
    sample const read = timed([&] { benchmark::DoNotOptimize(read_sweep(gradients[3])); });
    reads.push_back((own[3][3].seconds - beside[3].seconds) / read.seconds);
    for (std::size_t policy = 0; policy < policies; ++policy)
      for (std::size_t pass = 0; pass < microbatches; ++pass) {
        all[policy][pass].push_back(own[policy][pass].seconds / beside[pass].seconds);
        if (!own[policy][pass].disturbed && !beside[pass].disturbed)
          ratios[policy][pass].push_back(all[policy][pass].back());
      }
    state.SetIterationTime(beside[3].seconds);
  }
  for (std::size_t policy = 0; policy < policies; ++policy)
    for (auto const& [name, pass] : looked_at) {
      auto const& clean = ratios[policy][pass];
      state.counters[std::string(names[policy]) + name] = median(clean.size() >= 5 ? clean : all[policy][pass]);
    }
  state.counters["reject_microbatch_reads"] = median(reads);
  state.counters["clean"] = static_cast<double>(ratios[1][3].size());
}
BENCHMARK(passes_of_summations)->Name("summation")->UseManualTime()->Iterations(31);

}  // namespace

}  // namespace bench

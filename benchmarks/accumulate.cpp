// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One accumulate pass over a contiguous float view against the loop that one writes by hand. The two take turns in one
// run and the ratio is the median of neighbouring pairs, because the machine drifts by more than they differ.
#include <accrue/accrue.hpp>

#include <benchmark/benchmark.h>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace {

using array = Kokkos::View<float*>;

struct add_by_hand {
  array sum;
  array gradient;
  float weight;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { sum(i) += weight * gradient(i); }
};

template <class Work>
double seconds(int repetitions, Work const& work) {
  Kokkos::fence();
  auto const begin = std::chrono::steady_clock::now();
  for (int r = 0; r < repetitions; ++r) work();
  Kokkos::fence();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void accumulate_against_a_loop(benchmark::State& state) {
  auto const length = static_cast<std::size_t>(state.range(0));
  array const theta("theta", length), gradient("gradient", length), sum("sum", length);
  Kokkos::deep_copy(gradient, 1e-3f);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::sgd{});
  int const repetitions = static_cast<int>(std::max<std::int64_t>(1, (std::int64_t{1} << 24) / state.range(0)));

  using policy = Kokkos::RangePolicy<Kokkos::IndexType<std::int64_t>>;
  add_by_hand const loop{sum, gradient, 2.0f};
  auto const by_hand = [&] { Kokkos::parallel_for("by hand", policy(0, state.range(0)), loop); };
  auto const by_accrue = [&] { group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{2}); };
  by_accrue();  // the first one overwrites

  std::vector<double> ratios;
  double hand = 0.0, ours = 0.0;
  for (auto _ : state) {
    bool const hand_first = ratios.size() % 2 == 0;
    double const before = hand_first ? seconds(repetitions, by_hand) : 0.0;
    double const subject = seconds(repetitions, by_accrue);
    double const after = hand_first ? 0.0 : seconds(repetitions, by_hand);
    ratios.push_back(subject / (before + after));
    hand += before + after;
    ours += subject;
    state.SetIterationTime(subject);
  }
  std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2), ratios.end());
  double const bytes = 12.0 * static_cast<double>(length) * repetitions * static_cast<double>(ratios.size());
  state.counters["ratio_to_loop"] = ratios[ratios.size() / 2];
  state.counters["loop_GB/s"] = bytes / hand * 1e-9;
  state.counters["accrue_GB/s"] = bytes / ours * 1e-9;
}
BENCHMARK(accumulate_against_a_loop)->RangeMultiplier(16)->Range(1 << 14, 1 << 26)->UseManualTime()->Iterations(31);

}  // namespace

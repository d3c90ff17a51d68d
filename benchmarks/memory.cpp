// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the memory of this machine can do: the measure for every pass over parameters and gradients.
#include <benchmark/benchmark.h>
#include <Kokkos_Core.hpp>

#include <cstdint>

namespace {

// Reads two arrays and writes one, as adding a gradient to its accumulator does.
void add(benchmark::State& state) {
  std::int64_t const length = state.range(0);
  Kokkos::View<float*> const sum("sum", static_cast<std::size_t>(length));
  Kokkos::View<float*> const gradient("gradient", static_cast<std::size_t>(length));

  for (auto _ : state) {
    Kokkos::parallel_for(
        "add", Kokkos::RangePolicy<>(0, length), KOKKOS_LAMBDA(std::int64_t i) { sum(i) += gradient(i); });
    Kokkos::fence();
  }
  state.SetBytesProcessed(state.iterations() * length * std::int64_t{3 * sizeof(float)});
}
BENCHMARK(add)->RangeMultiplier(16)->Range(1 << 12, 1 << 24)->UseRealTime();

}  // namespace

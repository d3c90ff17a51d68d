// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the memory of this machine can do: the measures for every pass over parameters and gradients.
#include "support.hpp"

#include <benchmark/benchmark.h>

namespace bench {

namespace {

template <class Body>
void over_all(char const* label, array const& like, Body const& body) {
  using policy = Kokkos::RangePolicy<Kokkos::IndexType<std::int64_t>, Kokkos::Schedule<Kokkos::Static>>;
  Kokkos::parallel_for(label, policy(0, static_cast<std::int64_t>(like.extent(0))), body);
}

struct accumulate_body {
  float* sum;
  float const* gradient;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { sum[i] += gradient[i]; }
};
struct triad_body {
  float* a;
  float const* b;
  float const* c;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { a[i] = b[i] + 0.5f * c[i]; }
};
struct seven_stream_body {
  float* theta;
  float* m;
  float* v;
  float const* gradient;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    float const g = gradient[i];
    m[i] += g;
    v[i] += g;
    theta[i] += g;
  }
};

}  // namespace

void accumulate_sweep(array const& sum, array const& gradient) {
  over_all("accumulate", sum, accumulate_body{sum.data(), gradient.data()});
}
void triad_sweep(array const& a, array const& b, array const& c) {
  over_all("triad", a, triad_body{a.data(), b.data(), c.data()});
}
void seven_stream_sweep(array const& theta, array const& m, array const& v, array const& gradient) {
  over_all("seven streams", theta, seven_stream_body{theta.data(), m.data(), v.data(), gradient.data()});
}

namespace {

void memory(benchmark::State& state) {
  auto const n = static_cast<std::size_t>(state.range(0));
  array const a("a", n), b("b", n), c("c", n), d("d", n);
  contest sweeps;
  std::size_t const add = sweeps.enter([&] { accumulate_sweep(a, b); });
  std::size_t const triad = sweeps.enter([&] { triad_sweep(a, b, c); });
  std::size_t const seven = sweeps.enter([&] { seven_stream_sweep(a, b, c, d); });
  for (auto _ : state) state.SetIterationTime(sweeps.run());
  double const gigabytes = static_cast<double>(n) * 1e-9;
  state.counters["accumulate_GB/s"] = 12.0 * gigabytes / sweeps.seconds(add);
  state.counters["triad_GB/s"] = 12.0 * gigabytes / sweeps.seconds(triad);
  state.counters["seven_GB/s"] = 28.0 * gigabytes / sweeps.seconds(seven);
  state.counters["seven_in_passes"] = sweeps.ratio(seven, add);
}
BENCHMARK(memory)->Arg(1 << 16)->Arg(1 << 20)->Arg(1 << 26)->UseManualTime()->Iterations(15);

}  // namespace

}  // namespace bench

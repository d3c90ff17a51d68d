// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the memory of this machine can do: the measures for every pass over parameters and gradients.
#include "support.hpp"

#include <benchmark/benchmark.h>
#include <cstdint>
#include <iterator>
#include <vector>

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
/// The same over many arrays, as many for each thread: what a loop over tensors can do at best.
struct accumulate_arrays_body {
  array const* sums;
  array const* gradients;
  std::int64_t count;
  std::int64_t threads;
  void operator()(std::int64_t thread) const {
    for (std::int64_t n = count * thread / threads; n < count * (thread + 1) / threads; ++n) {
      float* const sum = sums[n].data();
      float const* const gradient = gradients[n].data();
      auto const size = static_cast<std::int64_t>(sums[n].extent(0));
#pragma GCC ivdep
      for (std::int64_t i = 0; i < size; ++i) sum[i] += gradient[i];
    }
  }
};
/// A union of all bits, which no rule of arithmetic keeps a compiler from forming side by side; one share a thread.
struct read_body {
  float const* gradient;
  std::int64_t size;
  std::int64_t threads;
  void operator()(std::int64_t thread, std::uint32_t& all) const {
    auto const* const bits = reinterpret_cast<std::uint32_t const*>(gradient);
    std::uint32_t own = 0;
    for (std::int64_t i = size * thread / threads; i < size * (thread + 1) / threads; ++i) own |= bits[i];
    all |= own;
  }
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
void accumulate_sweep(std::vector<array> const& sums, std::vector<array> const& gradients) {
  using host = Kokkos::DefaultHostExecutionSpace;
  std::int64_t const threads = host().concurrency();
  Kokkos::parallel_for(
      "accumulate arrays",
      Kokkos::RangePolicy<host, Kokkos::IndexType<std::int64_t>, Kokkos::Schedule<Kokkos::Static>>(0, threads),
      accumulate_arrays_body{sums.data(), gradients.data(), std::ssize(sums), threads});
}
std::uint32_t read_sweep(array const& gradient) {
  using policy = Kokkos::RangePolicy<Kokkos::IndexType<std::int64_t>, Kokkos::Schedule<Kokkos::Static>>;
  std::int64_t const threads = Kokkos::DefaultExecutionSpace().concurrency();
  std::uint32_t all = 0;
  Kokkos::parallel_reduce("bench::read", policy(0, threads),
                          read_body{gradient.data(), static_cast<std::int64_t>(gradient.extent(0)), threads},
                          Kokkos::BOr<std::uint32_t>(all));
  return all;
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same group written with Eigen's arrays, which run on one thread.
#if __has_include(<Eigen/Core>)

#include "support.hpp"

#include <accrue/accrue.hpp>

#include <benchmark/benchmark.h>
#include <Eigen/Core>

#include <cmath>

namespace bench {

namespace {

void against_eigen(benchmark::State& state) {
  auto const n = static_cast<Eigen::Index>(state.range(0));
  int const microbatches = 8;
  Eigen::ArrayXf theta = Eigen::ArrayXf::Ones(n), sum(n), m = Eigen::ArrayXf::Zero(n), v = m;
  array const gradient("gradient", static_cast<std::size_t>(n)), other("theta", static_cast<std::size_t>(n));
  Kokkos::deep_copy(gradient, 1e-3f);
  Eigen::Map<Eigen::ArrayXf const> const g(gradient.data(), n);
  int updates = 0;

  accrue::accumulator group(accrue::parameters(other), accrue::per_token{}, accrue::every{microbatches},
                            accrue::clip_by_global_norm{.max_norm = 1.0}, accrue::adamw{});
  contest turns;
  std::size_t const subject = turns.enter([&] {
    for (int i = 0; i < microbatches; ++i) group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
    group.update();
  });
  std::size_t const peer = turns.enter([&] {
    sum.setZero();
    for (int i = 0; i < microbatches; ++i) sum += 512.0f * g;
    double const norm = std::sqrt(static_cast<double>(sum.square().sum())) / (512.0 * microbatches);
    if (!std::isfinite(norm)) return;
    sum *= static_cast<float>((norm > 1.0 ? 1.0 / norm : 1.0) / (512.0 * microbatches));
    ++updates;
    auto const rate = static_cast<float>(1e-3 / (1.0 - std::pow(0.9, updates)));
    auto const root = static_cast<float>(std::sqrt(1.0 - std::pow(0.999, updates)));
    m = 0.9f * m + 0.1f * sum;
    v = 0.999f * v + 0.001f * sum.square();
    theta = (1.0f - 1e-5f) * theta - rate * m / (v.sqrt() / root + 1e-8f);
  });
  for (auto _ : state) state.SetIterationTime(turns.run());
  state.counters["times_faster"] = turns.ratio(peer, subject);
  state.counters["clean"] = turns.clean(subject, peer);
}
BENCHMARK(against_eigen)->Arg(1 << 16)->Arg(1 << 26)->UseManualTime()->Iterations(11)->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace bench

#endif

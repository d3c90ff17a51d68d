// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a pass grows: with threads, and with the parameters and the views that they are cut into.
#include "group.hpp"

#include <accrue/accrue.hpp>

#include <benchmark/benchmark.h>
#include <Kokkos_Core.hpp>
#ifdef KOKKOS_ENABLE_OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace {

// ---- threads

#ifdef KOKKOS_ENABLE_OPENMP
/// A group on an instance with fewer threads, in turns with the same on one thread.
void threads(benchmark::State& state, int count) {
  shape const s = one_tensor();
  arena& memory = memory_for(s);
  int const microbatches = 8;
  auto const on = [&](int size) {
    return accrue::accumulator(Kokkos::OpenMP(size), accrue::parameters(tensors<float>(s, 1.0)), accrue::per_token{},
                               accrue::every{microbatches}, accrue::clip_by_global_norm{.max_norm = 1.0},
                               accrue::adamw{});
  };
  auto some = on(count), one = on(1);
  auto const run = [&](auto& group) {
    for (int i = 0; i < microbatches; ++i) group.accumulate(memory.sets()[0], accrue::tokens{512});
    group.update();
  };
  contest turns;
  std::size_t const subject = turns.enter([&] { run(some); });
  std::size_t const single = count == 1 ? subject : turns.enter([&] { run(one); });
  for (auto _ : state) state.SetIterationTime(turns.run());
  state.counters["GB/s"] = 120e-9 * static_cast<double>(s.total()) / turns.seconds(subject);
  state.counters["times_one"] = turns.ratio(single, subject);
  state.counters["clean"] = turns.clean(subject, single);
}
#endif

// ---- parameters

/// The cost of one addition over so many views and elements.
struct point {
  double views, elements, seconds;
};
std::vector<point> points;

void addition(benchmark::State& state, std::size_t elements, std::size_t views) {
  shape const s{"", std::vector<std::size_t>(views, elements / views)};
  auto const theta = tensors<float>(s, 1.0);
  gradients const gradient(tensors<float>(s, 1e-3));
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::sgd{});
  std::size_t const repetitions = std::max<std::size_t>(1, 100'000 / elements);
  auto const add = [&] {
    for (std::size_t r = 0; r < repetitions; ++r) group.accumulate(gradient, accrue::samples{2});
  };
  add();  // the first one overwrites
  std::vector<double> seconds, clean;
  for (auto _ : state) {
    sample const one = timed(add);
    seconds.push_back(one.seconds / static_cast<double>(repetitions));
    if (!one.disturbed) clean.push_back(seconds.back());
    state.SetIterationTime(one.seconds);
  }
  double const pass = median(clean.size() >= 5 ? clean : seconds);
  points.push_back({static_cast<double>(views), static_cast<double>(s.total()), pass});
  state.counters["pass_us"] = 1e6 * pass;
  state.counters["ns_per_element"] = 1e9 * pass / static_cast<double>(s.total());
  state.counters["ns_per_view"] = 1e9 * pass / static_cast<double>(views);
  state.counters["clean"] = static_cast<double>(clean.size());
}

/// Solves 3 equations by elimination; they are definite, so any pivot will do.
std::array<double, 3> solve(std::array<std::array<double, 4>, 3> rows) {
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      if (j == i) continue;
      double const factor = rows[j][i] / rows[i][i];
      for (std::size_t k = 0; k < 4; ++k) rows[j][k] -= factor * rows[i][k];
    }
  return {rows[0][3] / rows[0][0], rows[1][3] / rows[1][1], rows[2][3] / rows[2][2]};
}

/// Fits seconds = pass + views * view + elements * element to the additions that ran before this case, up to a number
/// of elements. Squares of relative errors are minimized, so that the small ones count as much as the large.
void fit(benchmark::State& state, double largest) {
  std::vector<point> used;
  std::copy_if(points.begin(), points.end(), std::back_inserter(used),
               [&](point const& p) { return p.elements <= largest; });
  std::array<std::array<double, 4>, 3> sums{};
  for (point const& p : used) {
    std::array<double, 4> const terms{1.0 / p.seconds, p.views / p.seconds, p.elements / p.seconds, 1.0};
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 4; ++j) sums[i][j] += terms[i] * terms[j];
  }
  for (auto _ : state) state.SetIterationTime(1e-9);
  if (used.size() < 4) {
    state.SkipWithError("needs the additions: --benchmark_filter=scaling");
    return;
  }
  auto const [pass, view, element] = solve(sums);
  double worst = 1.0;
  for (point const& p : used) {
    double const ratio = (pass + view * p.views + element * p.elements) / p.seconds;
    worst = std::max({worst, ratio, 1.0 / ratio});
  }
  state.counters["ns_per_pass"] = 1e9 * pass;
  state.counters["ns_per_view"] = 1e9 * view;
  state.counters["ns_per_element"] = 1e9 * element;
  state.counters["worst_factor"] = worst;
}

bool const entered = [] {
#ifdef KOKKOS_ENABLE_OPENMP
  int const all = omp_get_max_threads();
  auto const add = [](int count) {
    enter("scaling/threads/" + std::to_string(count), 11, [=](benchmark::State& state) { threads(state, count); });
  };
  for (int count = 1; count < all; count *= 2) add(count);
  add(all);
#endif
  for (std::size_t elements = 1'000; elements <= 100'000'000; elements *= 10)
    for (std::size_t views : {1, 100, 10'000})
      if (elements >= 10 * views)
        enter("scaling/addition/" + std::to_string(elements) + "/" + std::to_string(views), 15,
              [=](benchmark::State& state) { addition(state, elements, views); });
  enter("scaling/fit/in_cache", 1, [](benchmark::State& state) { fit(state, 1e6); });
  enter("scaling/fit/all", 1, [](benchmark::State& state) { fit(state, 1e8); });
  return true;
}();

}  // namespace

}  // namespace bench

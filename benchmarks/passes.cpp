// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Single passes: the update, the addition that measures, and one over elements that lie apart.
#include "group.hpp"

#include <accrue/accrue.hpp>

#include <benchmark/benchmark.h>
#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

namespace {

/// The update pass alone against seven streams; the norm is known by then.
void update_pass(benchmark::State& state, shape const& s) {
  arena& memory = memory_for(s);
  auto const theta = tensors<float>(s, 1.0);
  auto group = make_group(accrue::parameters(theta), 1, accrue::one_at_a_time{});
  array const flat("theta", s.total());
  std::vector<double> ratios, all;
  for (auto _ : state) {
    group.accumulate(memory.sets()[0], accrue::tokens{512});
    sample const before = timed([&] { seven_stream_sweep(flat, memory.m, memory.v, memory.gradient); });
    sample const subject = timed([&] { group.update(); });
    sample const after = timed([&] { seven_stream_sweep(flat, memory.m, memory.v, memory.gradient); });
    double const ratio = 2.0 * subject.seconds / (before.seconds + after.seconds);
    all.push_back(ratio);
    if (!before.disturbed && !subject.disturbed && !after.disturbed) ratios.push_back(ratio);
    state.SetIterationTime(subject.seconds);
  }
  state.counters["to_seven_streams"] = median(ratios.size() >= 5 ? ratios : all);
  state.counters["clean"] = static_cast<double>(ratios.size());
}

/// The last addition, which measures, against one that does not; and the cost of a view in a pass.
void measured_addition(benchmark::State& state, shape const& s) {
  arena& memory = memory_for(s);
  auto const theta = tensors<float>(s, 1.0);
  auto group = make_group(accrue::parameters(theta), 3, accrue::one_at_a_time{});
  std::vector<double> ratios, seconds;
  auto const add = [&] { group.accumulate(memory.sets()[0], accrue::tokens{512}); };
  for (auto _ : state) {
    add();
    sample const plain = timed(add), last = timed(add);
    group.update();
    seconds.push_back(plain.seconds);
    if (!plain.disturbed && !last.disturbed) ratios.push_back(last.seconds / plain.seconds);
    state.SetIterationTime(last.seconds);
  }
  state.counters["to_plain"] = median(ratios);
  state.counters["ns_per_view"] = median(seconds) * 1e9 / static_cast<double>(s.sizes.size());
  state.counters["clean"] = static_cast<double>(ratios.size());
}

/// A row of a LayoutLeft matrix, whose elements lie apart, against a loop by hand.
void strided_addition(benchmark::State& state) {
  constexpr std::size_t columns = 1 << 21;
  Kokkos::View<float**, Kokkos::LayoutLeft> const matrix("matrix", 8, columns);
  auto const row = Kokkos::subview(matrix, 3, Kokkos::ALL);
  array const theta("theta", columns), sum("sum", columns);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::sgd{});
  auto const add = [&] { group.accumulate(accrue::mean_gradient{row}, accrue::samples{2}); };
  add();
  contest turns;
  std::size_t const subject = turns.enter(add);
  std::size_t const hand = turns.enter([&] {
    Kokkos::parallel_for(
        "row", Kokkos::RangePolicy<Kokkos::IndexType<std::int64_t>>(0, columns),
        KOKKOS_LAMBDA(std::int64_t i) { sum(i) += 2.0f * row(i); });
  });
  for (auto _ : state) state.SetIterationTime(turns.run());
  state.counters["to_hand"] = turns.ratio(subject, hand);
  state.counters["clean"] = turns.clean(subject, hand);
}

bool const entered = [] {
  enter("strided_addition", 31, strided_addition);
  for (shape const& s : {many(256), many(4096), gpt2(), one_tensor()}) {
    enter("update_pass/" + s.name, rounds_for(s), [=](benchmark::State& state) { update_pass(state, s); });
    enter("measured_addition/" + s.name, rounds_for(s), [=](benchmark::State& state) { measured_addition(state, s); });
  }
  return true;
}();

}  // namespace

}  // namespace bench

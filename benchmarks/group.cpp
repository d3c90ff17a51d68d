// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A whole group, from the first microbatch to the update with AdamW under a global norm, against the floor of the
// bytes that it must move at the speed of an accumulate sweep, and against the loops that one writes by hand.
#include "by_hand.hpp"
#include "support.hpp"

#include <accrue/accrue.hpp>

#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <string>

namespace bench {

namespace {

enum class way { copy, lent, gather2, gather4 };

constexpr char const* name_of(way w) {
  return w == way::copy ? "copy" : w == way::lent ? "lent" : w == way::gather2 ? "gather2" : "gather4";
}

/// Bytes that a group moves at least, per parameter: gradients of `g` bytes, sums and moments in float, parameters of
/// `p` bytes. The first microbatch is not read back, the last is measured on the way.
double floor_bytes(way w, int microbatches, double g, double p) {
  double const update = 4 + 16 + 2 * p;
  double const a = microbatches;
  switch (w) {
    case way::copy:
      return a * (g + 8) - 4 + update;
    case way::lent:
      return microbatches == 1 ? 4 + update : (a - 1) * (g + 8) + update;
    case way::gather2:
      return a * g + 8 * std::ceil(a / 2) - 4 + update;
    case way::gather4:
      return a * g + 8 * std::ceil(a / 4) - 4 + update;
  }
  return 0.0;
}

/// Memory that the cases of one shape share: fresh pages are slow, and the same for all.
struct arena {
  shape s;
  array sum, gradient, m, v;
  std::vector<accrue::mean_gradient<std::vector<array>>> sets;  // made once: to copy a view costs more than to know it

  explicit arena(shape of)
      : s(std::move(of)), sum("sum", s.total()), gradient("gradient", s.total()), m("m", s.total()), v("v", s.total()) {
    Kokkos::deep_copy(gradient, 1e-3f);
    for (int i = 0; i < 4; ++i) sets.emplace_back(tensors<float>(s, 1e-3 * (i + 1)));
  }
};

arena& memory_for(shape const& s) {
  static std::unique_ptr<arena> last;
  static bool const once = [] {
    Kokkos::push_finalize_hook([] { last.reset(); });
    return true;
  }();
  static_cast<void>(once);
  if (!last || last->s.name != s.name) {
    last.reset();
    last = std::make_unique<arena>(s);
  }
  return *last;
}

template <class Holding, class T>
auto make_group(std::vector<Kokkos::View<T*>> const& theta, int microbatches, Holding holding) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_token{}, accrue::every{microbatches},
                             accrue::keep_last{}, accrue::clip_by_global_norm{.max_norm = 1.0}, accrue::adamw{},
                             holding);
}

template <class Group, class T>
void run_group(Group& group, int microbatches, way w,
               std::vector<accrue::mean_gradient<std::vector<Kokkos::View<T*>>>> const& sets) {
  for (int i = 0; i < microbatches; ++i) {
    if constexpr (requires { group.template next_gradients<1>(); } && std::is_same_v<T, float>) {
      if (w == way::lent) {
        if constexpr (std::remove_cvref_t<decltype(group.policies().holding)>::lent > 0) {
          auto const [lent] = group.next_gradients();
          group.accumulate(accrue::mean_gradient{lent}, accrue::tokens{512});
          continue;
        }
      }
    }
    // One set of memory serves all microbatches, but those that are held need one each.
    std::size_t const set = w == way::gather2 ? i % 2 : w == way::gather4 ? i % 4 : 0;
    group.accumulate(sets[set], accrue::tokens{512});
  }
  group.update();
}

void report(benchmark::State& state, contest const& turns, std::size_t yard, std::size_t group, double bytes,
            std::size_t n) {
  double const passes = turns.ratio(group, yard);
  state.counters["passes"] = passes;
  state.counters["floor"] = bytes / 12.0;
  state.counters["to_floor"] = passes * 12.0 / bytes;
  state.counters["bytes"] = bytes;
  state.counters["GB/s"] = bytes * static_cast<double>(n) * 1e-9 / turns.seconds(group);
  state.counters["accumulate_GB/s"] = 12.0 * static_cast<double>(n) * 1e-9 / turns.seconds(yard);
  state.counters["clean"] = turns.clean(group, yard);
}

template <class Holding>
void float_group(benchmark::State& state, shape const& s, int microbatches, way w) {
  arena& memory = memory_for(s);
  auto const theta = tensors<float>(s, 1.0);
  auto group = make_group(theta, microbatches, Holding{});
  contest turns;
  std::size_t const subject = turns.enter([&] { run_group(group, microbatches, w, memory.sets); });
  std::size_t const yard = turns.enter([&] { accumulate_sweep(memory.sum, memory.gradient); });
  for (auto _ : state) state.SetIterationTime(turns.run());
  report(state, turns, yard, subject, floor_bytes(w, microbatches, 4, 4), s.total());
}

/// The same with parameters and gradients of 16 bits.
template <class Holding>
void half_group(benchmark::State& state, shape const& s, int microbatches, way w) {
  arena& memory = memory_for(s);
  auto const theta = tensors<accrue::bfloat16>(s, 1.0);
  std::vector<accrue::mean_gradient<std::vector<Kokkos::View<accrue::bfloat16*>>>> sets;
  for (int i = 0; i < 4; ++i) sets.emplace_back(tensors<accrue::bfloat16>(s, 1e-3 * (i + 1)));
  auto group = make_group(theta, microbatches, Holding{});
  contest turns;
  std::size_t const subject = turns.enter([&] { run_group(group, microbatches, w, sets); });
  std::size_t const yard = turns.enter([&] { accumulate_sweep(memory.sum, memory.gradient); });
  for (auto _ : state) state.SetIterationTime(turns.run());
  report(state, turns, yard, subject, floor_bytes(w, microbatches, 2, 2), s.total());
}

/// accrue out of the caller's memory against the loops by hand.
void against_hand(benchmark::State& state, shape const& s, int microbatches) {
  arena& memory = memory_for(s);
  auto const theta = tensors<float>(s, 1.0), other = tensors<float>(s, 1.0);
  auto group = make_group(theta, microbatches, accrue::one_at_a_time{});
  by_hand hand(s, other);
  contest turns;
  std::size_t const subject = turns.enter([&] { run_group(group, microbatches, way::copy, memory.sets); });
  std::size_t const peer = turns.enter([&] {
    hand.zero();
    for (int i = 0; i < microbatches; ++i) hand.add(std::get<0>(memory.sets[0].items), 512.0f);
    hand.update(512.0f * static_cast<float>(microbatches), 1.0);
  });
  for (auto _ : state) state.SetIterationTime(turns.run());
  state.counters["times_faster"] = turns.ratio(peer, subject);
  state.counters["clean"] = turns.clean(subject, peer);
}

/// The update pass alone against seven streams; the norm is known by then.
void update_pass(benchmark::State& state, shape const& s) {
  arena& memory = memory_for(s);
  auto const theta = tensors<float>(s, 1.0);
  auto group = make_group(theta, 1, accrue::one_at_a_time{});
  array const flat("theta", s.total());
  std::vector<double> ratios, all;
  for (auto _ : state) {
    group.accumulate(memory.sets[0], accrue::tokens{512});
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
  auto group = make_group(theta, 3, accrue::one_at_a_time{});
  std::vector<double> ratios, seconds;
  auto const add = [&] { group.accumulate(memory.sets[0], accrue::tokens{512}); };
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

template <class Run>
void enter(std::string const& name, int rounds, Run const& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime()->Iterations(rounds)->Unit(benchmark::kMillisecond);
}

bool const entered = [] {
  enter("strided_addition", 31, strided_addition);
  for (shape const& s : {many(256), many(4096), gpt2(), one_tensor()}) {
    bool const big = s.sizes.size() < 1000;
    int const rounds = big ? 11 : s.sizes[0] == 256 ? 201 : 31;
    for (int a : big ? std::vector{1, 4, 8, 16} : std::vector{8}) {
      auto const at = [&](char const* scalar, way w) {
        return std::string("group/") + scalar + "/" + s.name + "/A" + std::to_string(a) + "/" + name_of(w);
      };
      enter(at("float", way::copy), rounds,
            [=](benchmark::State& state) { float_group<accrue::one_at_a_time>(state, s, a, way::copy); });
      enter(at("float", way::lent), rounds,
            [=](benchmark::State& state) { float_group<accrue::gather<1>>(state, s, a, way::lent); });
      if (a == 8) {
        enter(at("float", way::gather2), rounds,
              [=](benchmark::State& state) { float_group<accrue::gather<2>>(state, s, a, way::gather2); });
        enter(at("float", way::gather4), rounds,
              [=](benchmark::State& state) { float_group<accrue::gather<4>>(state, s, a, way::gather4); });
      }
      if (a == 8 && big) {
        enter(at("bfloat16", way::copy), rounds,
              [=](benchmark::State& state) { half_group<accrue::one_at_a_time>(state, s, a, way::copy); });
        enter(at("bfloat16", way::gather4), rounds,
              [=](benchmark::State& state) { half_group<accrue::gather<4>>(state, s, a, way::gather4); });
      }
      if (a == 1 || a == 8)
        enter("against_hand/" + s.name + "/A" + std::to_string(a), rounds,
              [=](benchmark::State& state) { against_hand(state, s, a); });
    }
    enter("update_pass/" + s.name, rounds, [=](benchmark::State& state) { update_pass(state, s); });
    enter("measured_addition/" + s.name, rounds, [=](benchmark::State& state) { measured_addition(state, s); });
  }
  return true;
}();

}  // namespace

}  // namespace bench

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A whole group, from the first microbatch to the update with AdamW under a global norm, against the floor of the
// bytes that it must move at the speed of an accumulate sweep, and against the loops that one writes by hand.
// Built twice, see CMakeLists.txt.
#include "group.hpp"

#include "by_hand.hpp"

#include <accrue/accrue.hpp>

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {

namespace {

enum class way { copy, lent, gather2, gather4 };

constexpr char const* name_of(way w) {
  return w == way::copy ? "copy" : w == way::lent ? "lent" : w == way::gather2 ? "gather2" : "gather4";
}

/// Bytes of a gradient, of a sum as of a moment, of a parameter, and of the copy of it that an update writes.
struct widths {
  double gradient, sum, parameter, copy = 0;
};
constexpr widths of_float{4, 4, 4}, of_double{8, 8, 8}, of_bfloat16{2, 4, 2}, of_master{2, 4, 4, 2};

/// Bytes that a group moves at least, per parameter. The first microbatch is not read back, the last is measured on the
/// way.
double floor_bytes(way w, int microbatches, widths const& b) {
  double const update = 5 * b.sum + 2 * b.parameter + b.copy;
  double const a = microbatches;
  switch (w) {
    case way::copy:
      return a * (b.gradient + 2 * b.sum) - b.sum + update;
    case way::lent:
      return microbatches == 1 ? b.sum + update : (a - 1) * (b.gradient + 2 * b.sum) + update;
    case way::gather2:
      return a * b.gradient + 2 * b.sum * std::ceil(a / 2) - b.sum + update;
    case way::gather4:
      return a * b.gradient + 2 * b.sum * std::ceil(a / 4) - b.sum + update;
  }
  return 0.0;
}

template <class Group, class Contribution>
void run_group(Group& group, int microbatches, way w, std::vector<Contribution> const& sets) {
  for (int i = 0; i < microbatches; ++i) {
    if constexpr (std::remove_cvref_t<decltype(group.policies().holding)>::lent > 0 &&
                  std::is_same_v<Contribution, gradients>) {
      if (w == way::lent) {
        auto const [lent] = group.next_gradients();
        group.accumulate(accrue::mean_gradient{lent}, accrue::tokens{512});
        continue;
      }
    }
    // One set of memory serves all microbatches, but those that are held need one each.
    std::size_t const set = w == way::gather2 ? i % 2 : w == way::gather4 ? i % 4 : 0;
    group.accumulate(sets[set], accrue::tokens{512});
  }
  group.update();
}

/// The group in turns with what the memory can do on arrays of the same size, and with a peer if there is one.
template <class Holding, class Set, class Contribution>
void measure_group(benchmark::State& state, arena& memory, Set const& parameters, std::vector<Contribution> const& sets,
                   int microbatches, way w, double bytes, std::function<void()> const& hand = {}) {
  auto group = make_group(parameters, microbatches, Holding{});
  contest turns;
  std::size_t const subject = turns.enter([&] { run_group(group, microbatches, w, sets); });
  std::size_t const yard = turns.enter([&] { accumulate_sweep(memory.sum, memory.gradient); });
  std::size_t const triad = turns.enter([&] { triad_sweep(memory.sum, memory.gradient, memory.m); });
  std::size_t const seven = turns.enter([&] { seven_stream_sweep(memory.sum, memory.m, memory.v, memory.gradient); });
  // Of thousands of small tensors the floor is what memory does on as many arrays; of others one array is the same.
  std::vector<array> const arrays = memory.s.sizes.size() > 1000 ? tensors<float>(memory.s, 0.0) : std::vector<array>();
  std::size_t const same_arrays =
      arrays.empty() ? yard : turns.enter([&] { accumulate_sweep(arrays, std::get<0>(memory.sets()[0].items)); });
  std::size_t const peer = hand ? turns.enter(hand) : subject;
  for (auto _ : state) state.SetIterationTime(turns.run());

  double const passes = turns.ratio(subject, yard);
  double const gigabytes = static_cast<double>(memory.s.total()) * 1e-9;  // for each byte of a parameter
  state.counters["passes"] = passes;
  state.counters["bytes"] = bytes;
  state.counters["floor"] = bytes / 12.0;
  state.counters["to_floor"] = turns.ratio(subject, same_arrays) * 12.0 / bytes;
  state.counters["GB/s"] = bytes * gigabytes / turns.seconds(subject);
  state.counters["accumulate_GB/s"] = 12.0 * gigabytes / turns.seconds(yard);
  state.counters["triad_GB/s"] = 12.0 * gigabytes / turns.seconds(triad);
  state.counters["seven_GB/s"] = 28.0 * gigabytes / turns.seconds(seven);
  if (hand) state.counters["times_hand"] = turns.ratio(peer, subject);
  state.counters["clean"] = turns.clean(subject, yard);
}

template <class View>
std::function<void()> group_by_hand(by_hand<View>& hand, std::vector<View> const& gradient, int microbatches) {
  return [&hand, &gradient, microbatches] {
    hand.zero();
    for (int i = 0; i < microbatches; ++i) hand.add(gradient, 512.0f);
    hand.update(512.0f * static_cast<float>(microbatches), 1.0);
  };
}

template <class Holding>
void float_group(benchmark::State& state, shape const& s, int microbatches, way w) {
  arena& memory = memory_for(s);
  auto const theta = tensors<float>(s, 1.0);
  auto const measure = [&](std::function<void()> const& hand) {
    measure_group<Holding>(state, memory, accrue::parameters(theta), memory.sets(), microbatches, w,
                           floor_bytes(w, microbatches, of_float), hand);
  };
  if (microbatches != 1 && microbatches != 8) return measure({});
  by_hand<array> hand(s, tensors<float>(s, 1.0));
  measure(group_by_hand(hand, std::get<0>(memory.sets()[0].items), microbatches));
}

/// The same with gradients of 16 bits, and a copy of the parameters in 16 bits that the update writes.
template <class Holding>
void half_group(benchmark::State& state, shape const& s, int microbatches, way w) {
  accrue::master_weights const theta(tensors<float>(s, 1.0), tensors<accrue::bfloat16>(s, 1.0));
  std::vector<accrue::mean_gradient<std::vector<Kokkos::View<accrue::bfloat16*>>>> sets;
  for (int i = 0; i < 4; ++i) sets.emplace_back(tensors<accrue::bfloat16>(s, 1e-3 * (i + 1)));
  measure_group<Holding>(state, memory_for(s), accrue::parameters(theta), sets, microbatches, w,
                         floor_bytes(w, microbatches, of_master));
}

/// Parameters and gradients are rows of LayoutLeft matrices: the elements of a tensor lie apart.
void strided_group(benchmark::State& state, int microbatches) {
  constexpr std::size_t matrices = 16, rows = 8, columns = 1 << 18;
  using row = Kokkos::View<float*, Kokkos::LayoutStride>;
  shape const s{"strided", std::vector<std::size_t>(matrices * rows, columns)};
  auto const make = [](double value) {
    std::vector<row> all;
    for (std::size_t i = 0; i < matrices; ++i) {
      Kokkos::View<float**, Kokkos::LayoutLeft> const matrix("matrix", rows, columns);
      Kokkos::deep_copy(matrix, static_cast<float>(value));
      for (std::size_t r = 0; r < rows; ++r) all.push_back(Kokkos::subview(matrix, r, Kokkos::ALL));
    }
    return all;
  };
  auto const theta = make(1.0);
  std::vector<accrue::mean_gradient<std::vector<row>>> sets;
  sets.emplace_back(make(1e-3));
  by_hand<row> hand(s, make(1.0));
  measure_group<accrue::one_at_a_time>(state, memory_for(s), accrue::parameters(theta), sets, microbatches, way::copy,
                                       floor_bytes(way::copy, microbatches, of_float),
                                       group_by_hand(hand, std::get<0>(sets[0].items), microbatches));
}

/// Tensors of three scalar types in one model, as many of each.
void mixed_group(benchmark::State& state, int microbatches) {
  shape const third{"third", std::vector<std::size_t>(20, std::size_t{1} << 19)};
  shape const s{"mixed", std::vector<std::size_t>(60, std::size_t{1} << 19)};
  auto const a = tensors<float>(third, 1.0), da = tensors<float>(third, 1e-3);
  auto const b = tensors<double>(third, 1.0), db = tensors<double>(third, 1e-3);
  auto const c = tensors<accrue::bfloat16>(third, 1.0), dc = tensors<accrue::bfloat16>(third, 1e-3);
  std::vector const sets{accrue::mean_gradient{da, db, dc}};
  double bytes = 0;
  for (widths const& width : {of_float, of_double, of_bfloat16}) bytes += floor_bytes(way::copy, microbatches, width);
  measure_group<accrue::one_at_a_time>(state, memory_for(s), accrue::parameters(a, b, c), sets, microbatches, way::copy,
                                       bytes / 3);
}

bool const entered = [] {
  for (shape const& s : {many(256), many(4096), gpt2(), one_tensor()}) {
    bool const big = s.sizes.size() < 1000;
    for (int a : big ? std::vector{1, 4, 8, 16} : std::vector{1, 8}) {
      auto const add = [&](char const* scalar, way w, auto run) {
        enter(std::string("group/") + scalar + "/" + s.name + "/A" + std::to_string(a) + "/" + name_of(w),
              rounds_for(s), [=](benchmark::State& state) { run(state, s, a, w); });
      };
      add("float", way::copy, float_group<accrue::one_at_a_time>);
      add("float", way::lent, float_group<accrue::gather<1>>);
      if (a == 8) {
        add("float", way::gather2, float_group<accrue::gather<2>>);
        add("float", way::gather4, float_group<accrue::gather<4>>);
      }
      if (a == 8 && big) {
        add("bfloat16", way::copy, half_group<accrue::one_at_a_time>);
        add("bfloat16", way::gather4, half_group<accrue::gather<4>>);
      }
    }
  }
  for (int a : {1, 8}) {
    std::string const end = "/A" + std::to_string(a) + "/copy";
    enter("group/float/strided" + end, 11, [=](benchmark::State& state) { strided_group(state, a); });
    enter("group/mixed/mixed" + end, 11, [=](benchmark::State& state) { mixed_group(state, a); });
  }
  return true;
}();

}  // namespace

}  // namespace bench

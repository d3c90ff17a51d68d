// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_BENCHMARKS_GROUP_HPP
#define ACCRUE_BENCHMARKS_GROUP_HPP

#include "support.hpp"

#include <accrue/accrue.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// A group with AdamW under a global norm, and the memory that the cases of one shape share.

namespace bench {

using gradients = accrue::mean_gradient<std::vector<array>>;

/// Memory that the cases of one shape share: fresh pages are slow, and the same for all.
class arena {
 public:
  shape s;
  array sum, gradient, m, v;

  explicit arena(shape of)
      : s(std::move(of)), sum("sum", s.total()), gradient("gradient", s.total()), m("m", s.total()), v("v", s.total()) {
    Kokkos::deep_copy(gradient, 1e-3f);
  }

  /// Gradients for four microbatches, made once: to copy a view costs more than to know it.
  std::vector<gradients> const& sets() {
    if (sets_.empty())
      for (int i = 0; i < 4; ++i) sets_.emplace_back(tensors<float>(s, 1e-3 * (i + 1)));
    return sets_;
  }

 private:
  std::vector<gradients> sets_;
};

inline arena& memory_for(shape const& s) {
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

template <class Holding, class Set>
auto make_group(Set const& parameters, int microbatches, Holding holding) {
  return accrue::accumulator(parameters, accrue::per_token{}, accrue::every{microbatches}, accrue::keep_last{},
                             accrue::clip_by_global_norm{.max_norm = 1.0}, accrue::adamw{}, holding);
}

/// Rounds that give a steady median in some seconds.
inline int rounds_for(shape const& s) {
  std::size_t const n = s.total();
  return n < (1 << 20) ? 51 : n < (16 << 20) ? 31 : 11;
}

template <class Run>
void enter(std::string const& name, int rounds, Run const& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime()->Iterations(rounds)->Unit(benchmark::kMillisecond);
}

}  // namespace bench
#endif

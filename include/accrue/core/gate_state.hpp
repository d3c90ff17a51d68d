// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_GATE_STATE_HPP
#define ACCRUE_CORE_GATE_STATE_HPP

#include <accrue/core/facts.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace accrue {

/// Counts as device code adds them up.
struct device_counts {
  std::int64_t microbatches = 0;
  std::int64_t samples = 0;
  std::int64_t tokens = 0;
  std::int64_t ignored_tokens = 0;
  std::int64_t positions = 0;

  KOKKOS_FUNCTION void add(device_counts const& other) {
    microbatches += other.microbatches;
    samples += other.samples;
    tokens += other.tokens;
    ignored_tokens += other.ignored_tokens;
    positions += other.positions;
  }
  KOKKOS_FUNCTION void take_back(device_counts const& other) {
    microbatches -= other.microbatches;
    samples -= other.samples;
    tokens -= other.tokens;
    ignored_tokens -= other.ignored_tokens;
    positions -= other.positions;
  }
  /// For a restart, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(microbatches, samples, tokens, ignored_tokens, positions);
  }

  [[nodiscard]] bool plausible() const {
    return microbatches >= 0 && samples >= 0 && tokens >= 0 && ignored_tokens >= 0 && positions >= 0;
  }

  /// As the host counts, which checks for overflow.
  [[nodiscard]] group_counts checked() const {
    group_counts counts;
    counts.microbatches = accrue::microbatches{microbatches};
    counts.samples = accrue::samples{samples};
    counts.tokens = accrue::tokens{tokens};
    counts.ignored_tokens = accrue::ignored_tokens{ignored_tokens};
    counts.positions = accrue::positions{positions};
    return counts;
  }
};

/// What a gate that rejects microbatches has let through and left out of the open group; only the device knows.
struct gate_state {
  std::int32_t rejects = 0;  ///< the microbatch that was looked at last is left out
  std::int64_t rejected_non_finite = 0;
  device_counts rejected;
  std::int64_t contributed = 0;   ///< microbatches that weigh, of those let through
  std::int64_t touching = 0;      ///< those among them that brought a gradient
  std::int64_t exact_weight = 0;  ///< theirs, where the counts are integers
  double weight = 0.0;            ///< theirs, where they are not
  double own_squares = 0.0;       ///< of the norms of their own gradients, where those are not clipped
  double inverse_weights = 0.0;   ///< 1/c_i of the same

  /// For a restart, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(rejects, rejected_non_finite, rejected, contributed, touching, exact_weight, weight, own_squares,
          inverse_weights);
  }

  /// Adds what the gate of another replica let through and left out.
  void merge(gate_state const& other) {
    rejected_non_finite += other.rejected_non_finite;
    rejected.add(other.rejected);
    contributed += other.contributed;
    touching += other.touching;
    exact_weight += other.exact_weight;
    weight += other.weight;
    own_squares += other.own_squares;
    inverse_weights += other.inverse_weights;
  }

  [[nodiscard]] KOKKOS_FUNCTION double total_weight() const { return weight + static_cast<double>(exact_weight); }
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_LEDGER_RECORD_HPP
#define ACCRUE_LEDGER_RECORD_HPP

#include <accrue/core/facts.hpp>
#include <accrue/core/open_terms.hpp>
#include <accrue/core/outcome.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>

namespace accrue {

/// The own gradients g_i of the microbatches of a group, with counts c_i, before they were added.
struct own_gradients {
  double mean_square = 0.0;  ///< of |g_i|
  double weight = 0.0;       ///< harmonic mean of the c_i; 0 where nobody measured

  [[nodiscard]] bool measured() const { return weight > 0.0; }
  template <class Visit>
  void state(Visit&& visit) {
    visit(mean_square, weight);
  }
};

/// What happened to one closed group.
struct record {
  std::int64_t number = 0;  ///< of the group, from 1, in the order of closing
  outcome result = outcome::empty;
  group_counts counts;    ///< what the group held, without what was rejected
  group_counts rejected;  ///< what was left out of it
  double weight = 0.0;    ///< N, with named terms that of the first; `pad_last` divides a short last group by more
  double norm =
      std::numeric_limits<double>::quiet_NaN();  ///< of the finalized gradient before clipping; NaN if not attempted
  double clip_factor = 1.0;
  double loss_scale = 1.0;     ///< that the group was filled under
  std::optional<double> loss;  ///< formed as the gradient is; none unless every microbatch that weighs gave its loss

  own_gradients own;  ///< where `reject_microbatch` measures them, and they compare with `norm`

  std::size_t terms = 0;                          ///< named terms, if the recipe has any
  std::array<double, most_terms> term_weights{};  ///< N of each, in their order; 0 where the group had nothing of it

  /// Whether a group can have come to this; for a restart.
  [[nodiscard]] bool plausible() const {
    return terms <= most_terms && rejected.microbatches.value() >= 0 && !(weight < 0.0) && !(own.mean_square < 0.0) &&
           !(own.weight < 0.0);
  }

  /// For a restart, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(number, result, counts, rejected, weight, norm, clip_factor, loss_scale, loss, own, terms);
    for (double& each : term_weights) visit(each);
  }

  template <std::size_t Terms>
  void take_weights(std::array<double, Terms> const& weights) {
    terms = Terms;
    for (std::size_t t = 0; t < Terms; ++t) term_weights[t] = weights[t];
  }
};

inline std::ostream& operator<<(std::ostream& out, record const& r) {
  out << "group " << r.number << ": " << r.result << ", " << r.counts.microbatches << ", weight " << r.weight;
  for (std::size_t t = 1; t < r.terms; ++t) out << " + " << r.term_weights[t];
  if (attempted(r.result)) out << ", norm " << r.norm << ", clip factor " << r.clip_factor;
  if (r.loss) out << ", loss " << *r.loss;
  if (r.loss_scale != 1.0) out << ", loss scale " << r.loss_scale;
  if (r.rejected.microbatches.value() > 0) out << ", rejected " << r.rejected.microbatches;
  return out;
}

}  // namespace accrue
#endif

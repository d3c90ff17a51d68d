// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_GRADIENT_NOISE_HPP
#define ACCRUE_DOCTOR_GRADIENT_NOISE_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/outcome.hpp>
#include <accrue/core/replica_report.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/core/slots.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <span>
#include <vector>

namespace accrue {

/// A number, and the standard error of it.
struct uncertain {
  double value = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::quiet_NaN();

  friend std::ostream& operator<<(std::ostream& out, uncertain const& u) { return out << u.value << " +- " << u.error; }
};

/// What two norms of one group say: unbiased, each with the noise of the group.
struct noise_of_group {
  double noise = 0.0;   ///< tr(Sigma), of the gradient of one example
  double signal = 0.0;  ///< |G|^2, of the gradient of all data; may come out negative
};

/// A batch that is a part of a group, as what one replica holds of it.
struct noise_part {
  double square = 0.0;  ///< |g|^2, of its mean gradient
  double weight = 0.0;  ///< the sum of its counts, in the unit of the normalization

  /// For an exchange, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(square, weight);
  }
};

/// The gradient noise scale tr(Sigma) / |G|^2: the batch at which noise and gradient are alike, in the unit of the
/// normalization: samples, tokens.
///
/// Far below it a batch twice as large does with nearly half the updates; far above it with hardly fewer. From the
/// norms of a small and a large batch: |G_b|^2 = |G|^2 + tr(Sigma) / b on average. Order: observe an accumulator with
/// `reject_microbatch`, which measures the microbatches of all replicas anyway, or hand norms over with `add`.
/// Guarantee: both parts are unbiased for each group and averaged separately; with weights that fall by `decay` from
/// group to group, or all alike with a `decay` of 1. Errors are those of a ratio of weighted means, with groups taken
/// as independent; trust them from some fifty groups on. Cost: a few multiplications a group, no memory. Failure:
/// `accrue::error` for a decay outside (0, 1], and from `add`. Source: McCandlish et al. 2018, "An Empirical Model of
/// Large-Batch Training", appendix A.1. Example: `accrue::gradient_noise noise; group.observe(std::ref(noise));  ...
/// std::cout << noise;`
class gradient_noise {
 public:
  explicit gradient_noise(double decay = 0.99) : decay_(decay) {
    if (!(decay > 0.0 && decay <= 1.0))
      throw error("accrue::gradient_noise: decay is not above 0 and at most 1", "older groups weigh so much less",
                  "give 0.99, or 1 for all groups alike");
  }

  /// Adds a group: squared norms of the mean gradients of a small batch and of a large one that it is part of; of
  /// several small ones the mean of the squares, and the harmonic mean of their sizes.
  ///
  /// Failure: `accrue::error` for squares that are negative or not finite, and where the small batch is not the
  /// smaller.
  void add(double small_square, double small, double large_square, double large) {
    if (!(small > 0.0 && small < large) || !is_finite(large))
      throw error("accrue::gradient_noise: the small batch is not smaller than the large one",
                  "the difference of their norms is what is looked for", "give a part of the group, and the group");
    if (!(small_square >= 0.0 && large_square >= 0.0) || !is_finite(small_square) || !is_finite(large_square))
      throw error("accrue::gradient_noise: a squared norm is negative or not finite", "the averages would be lost",
                  "leave such a group out");
    last_ = {(small_square - large_square) / (1.0 / small - 1.0 / large),
             (large * large_square - small * small_square) / (large - small)};
    enter(last_);
  }

  /// Adds a group of these parts, all of them: those of its replicas, or its microbatches. As for `group_recorded`,
  /// groups that were skipped tell nothing, nor do those of a single part that weighs.
  ///
  /// Failure: as for the other `add`, and where the parts do not weigh what the group does.
  template <class Record>
  void add(std::span<noise_part const> parts, Record const& whole) {
    if (!usable(whole)) return;
    double squares = 0.0, inverse = 0.0, weight = 0.0, count = 0.0;
    for (noise_part const& each : parts) {
      if (!(each.weight > 0.0)) continue;
      squares += each.square;
      inverse += 1.0 / each.weight;
      weight += each.weight;
      count += 1.0;
    }
    if (!(std::abs(weight - whole.weight) <= 1e-9 * whole.weight))
      throw error("accrue::gradient_noise: the parts do not weigh what the group does",
                  "noise is found by how much the parts differ from the whole",
                  "give what every replica held: parts_of_members() gathers them");
    if (count > 1.0) add(squares / count, count / inverse, whole.norm * whole.norm, whole.weight);
  }

  /// For the accumulator. Groups that were skipped tell nothing, nor do those of a single microbatch.
  template <class Record>
  void group_recorded(Record const& r) {
    if (!usable(r) || !r.own.measured()) return;
    if (r.counts.microbatches.value() - r.counts.ignored_microbatches.value() < 2) return;
    double const square = r.norm * r.norm;
    if (is_finite(square) && is_finite(r.own.mean_square) && r.own.weight < r.weight)
      add(r.own.mean_square, r.own.weight, square, r.weight);
  }

  [[nodiscard]] std::int64_t groups() const { return groups_; }
  [[nodiscard]] noise_of_group const& last() const { return last_; }  ///< of the last group alone

  /// tr(Sigma); not a number before the first group, its error before the second.
  [[nodiscard]] uncertain noise() const {
    double const mean = noise_ / weights_;
    return {mean, std::sqrt(squared_error(1.0, 0.0, mean)) / weights_};
  }
  /// |G|^2.
  [[nodiscard]] uncertain signal() const {
    double const mean = signal_ / weights_;
    return {mean, std::sqrt(squared_error(0.0, 1.0, mean)) / weights_};
  }
  /// tr(Sigma) / |G|^2; not a number where |G|^2 does not come out positive: too few groups for so much noise.
  [[nodiscard]] uncertain scale() const {
    if (!(signal_ > 0.0)) return {};
    double const ratio = noise_ / signal_;
    return {ratio, std::sqrt(squared_error(1.0, -ratio, 0.0)) / signal_};
  }

  friend std::ostream& operator<<(std::ostream& out, gradient_noise const& n) {
    out << "gradient noise scale ";
    if (n.signal_ > 0.0)
      out << n.scale();
    else
      out << "not known";
    return out << " over " << n.groups_ << " groups";
  }

 private:
  template <class Record>
  [[nodiscard]] static bool usable(Record const& r) {
    return r.result == outcome::applied || r.result == outcome::vetoed;
  }
  void enter(noise_of_group const& x) {
    double const squared = decay_ * decay_;
    weights_ = decay_ * weights_ + 1.0;
    noise_ = decay_ * noise_ + x.noise;
    signal_ = decay_ * signal_ + x.signal;
    weights2_ = squared * weights2_ + 1.0;
    noise2_ = squared * noise2_ + x.noise;
    signal2_ = squared * signal2_ + x.signal;
    noise_noise_ = squared * noise_noise_ + x.noise * x.noise;
    noise_signal_ = squared * noise_signal_ + x.noise * x.signal;
    signal_signal_ = squared * signal_signal_ + x.signal * x.signal;
    ++groups_;
  }
  /// The variance of the weighted sum of a * noise + b * signal - c, whose weighted mean is 0.
  [[nodiscard]] double squared_error(double a, double b, double c) const {
    if (groups_ < 2) return std::numeric_limits<double>::quiet_NaN();
    double const sum = a * a * noise_noise_ + 2.0 * a * b * noise_signal_ + b * b * signal_signal_ -
                       2.0 * c * (a * noise2_ + b * signal2_) + c * c * weights2_;
    return (sum > 0.0 ? sum : 0.0) / (1.0 - weights2_ / (weights_ * weights_));
  }

  double decay_;
  std::int64_t groups_ = 0;
  noise_of_group last_;
  // Sums over groups, with their weights.
  double weights_ = 0.0;
  double noise_ = 0.0;
  double signal_ = 0.0;
  // With the squares of their weights.
  double weights2_ = 0.0;
  double noise2_ = 0.0;
  double signal2_ = 0.0;
  double noise_noise_ = 0.0;
  double noise_signal_ = 0.0;
  double signal_signal_ = 0.0;
};

/// What each member holds of a group, in their order, from what this one holds.
///
/// Order: all members call it together. Cost: one gather of 16 bytes.
template <class Transport>
  requires(fills_slot<Transport, slot::replicas>)
[[nodiscard]] std::vector<noise_part> parts_of_members(Transport const& transport, noise_part mine) {
  return gathered(transport, mine);
}

/// By how many times more updates a batch needs than the fewest that any batch could do with: 1 + scale / batch.
///
/// Source: McCandlish et al. 2018, section 2.3, for one step along a quadratic; over a run it is a rule of thumb.
[[nodiscard]] inline double updates_over_fewest(double scale, double batch) { return 1.0 + scale / batch; }
/// By how many times more examples it needs than the fewest: 1 + batch / scale.
[[nodiscard]] inline double examples_over_fewest(double scale, double batch) { return 1.0 + batch / scale; }

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_LEDGER_RUN_HISTORY_HPP
#define ACCRUE_LEDGER_RUN_HISTORY_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/ledger/record.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace accrue {

/// A closed group, and where the run was after it. Samples and tokens are those of all replicas, as handed over.
struct run_point {
  std::int64_t group = 0;
  outcome result = outcome::empty;
  std::int64_t applied = 0;  ///< updates since the history began, with this one
  std::int64_t samples = 0;  ///< likewise, in groups that are closed
  std::int64_t tokens = 0;
  double weight = 0.0;
  std::optional<double> loss;
  double norm = std::numeric_limits<double>::quiet_NaN();  ///< before clipping
  double clip_factor = 1.0;
  double loss_scale = 1.0;
};

/// From this group on, losses were multiplied by `scale`.
struct scale_change {
  std::int64_t group = 0;
  double scale = 1.0;
};

/// The smallest and the largest of some numbers, and their sum; nothing is known of none.
struct extremes {
  std::int64_t count = 0;
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::int64_t sum = 0;

  void add(std::int64_t value) {
    least = count == 0 ? value : std::min(least, value);
    most = count == 0 ? value : std::max(most, value);
    sum += value;
    ++count;
  }
  [[nodiscard]] double mean() const { return static_cast<double>(sum) / static_cast<double>(count); }
};

/// An observer that keeps what a run sheet tells of the groups of a run.
///
/// Guarantee: memory that does not grow: when `most` groups are kept, every other one is thrown away, and from then on
/// only every second, fourth, ... is kept, and the last one. Extremes and numbers of updates are of all groups. Of
/// changes of the loss scale the first `most` are kept, later ones counted. Cost: 88 bytes for each group that is kept.
/// Order: observe from the beginning; what came before is told by its totals alone.
/// Example: `accrue::run_history history; group.observe(std::ref(history));`
class run_history {
 public:
  /// Failure: `accrue::error` for fewer than 2.
  explicit run_history(std::size_t most = 1024) : most_(most) {
    if (most < 2)
      throw error("accrue::run_history: fewer than 2 groups kept", "there would be no course of a run",
                  "keep some hundred");
  }

  void group_recorded(record const& r) {
    if (r.result == outcome::applied) ++last_.applied;
    last_.group = r.number;
    last_.result = r.result;
    last_.samples += r.counts.samples.value() + r.rejected.samples.value();
    last_.tokens += r.counts.tokens.value() + r.rejected.tokens.value();
    last_.weight = r.weight;
    last_.loss = r.loss;
    last_.norm = r.norm;
    last_.clip_factor = r.clip_factor;
    last_.loss_scale = r.loss_scale;
    if (r.result == outcome::applied) note_applied(r);
    if (attempted(r.result)) note_scale(r);
    if (attempted(r.result) && r.result != outcome::applied) unused_ += r.counts;
    if (seen_ % every_ == 0) keep();
    ++seen_;
  }

  /// Groups seen, whether kept or not.
  [[nodiscard]] std::int64_t seen() const { return seen_; }
  /// Each so many of them is kept.
  [[nodiscard]] std::int64_t every() const { return every_; }
  /// Those that are kept and the last one, oldest first.
  [[nodiscard]] std::vector<run_point> points() const {
    std::vector<run_point> all = kept_;
    if (seen_ > 0 && all.back().group != last_.group) all.push_back(last_);
    return all;
  }
  /// The last one; where the run is. Nothing but zeros before the first.
  [[nodiscard]] run_point const& last() const { return last_; }

  [[nodiscard]] std::vector<scale_change> const& scale_changes() const { return scales_; }
  [[nodiscard]] std::int64_t scale_changes_left_out() const { return scales_left_out_; }

  /// What the groups held whose updates were skipped or vetoed.
  [[nodiscard]] group_counts const& unused() const { return unused_; }

  // Of applied updates.
  [[nodiscard]] extremes const& microbatches() const { return microbatches_; }
  [[nodiscard]] extremes const& samples() const { return samples_; }
  [[nodiscard]] extremes const& tokens() const { return tokens_; }
  [[nodiscard]] std::int64_t clipped() const { return clipped_; }
  [[nodiscard]] double largest_norm() const { return largest_norm_; }

 private:
  void note_applied(record const& r) {
    microbatches_.add(r.counts.microbatches.value());
    samples_.add(r.counts.samples.value());
    tokens_.add(r.counts.tokens.value());
    clipped_ += r.clip_factor < 1.0 ? 1 : 0;
    largest_norm_ = std::max(largest_norm_, r.norm);
  }
  void note_scale(record const& r) {
    if (scale_ == r.loss_scale) return;
    scale_ = r.loss_scale;
    if (scales_.size() < most_)
      scales_.push_back({r.number, r.loss_scale});
    else
      ++scales_left_out_;
  }
  void keep() {
    if (kept_.size() == most_) {
      for (std::size_t i = 0; 2 * i < kept_.size(); ++i) kept_[i] = kept_[2 * i];
      kept_.resize((kept_.size() + 1) / 2);
      every_ *= 2;
      if (seen_ % every_ != 0) return;
    }
    kept_.push_back(last_);
  }

  std::size_t most_;
  std::int64_t every_ = 1;
  std::int64_t seen_ = 0;
  run_point last_;
  std::vector<run_point> kept_;
  std::vector<scale_change> scales_;
  std::int64_t scales_left_out_ = 0;
  double scale_ = 0.0;  ///< none yet
  group_counts unused_;
  extremes microbatches_;
  extremes samples_;
  extremes tokens_;
  std::int64_t clipped_ = 0;
  double largest_norm_ = 0.0;
};

}  // namespace accrue
#endif

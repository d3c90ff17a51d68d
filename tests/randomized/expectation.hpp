// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_RANDOMIZED_EXPECTATION_HPP
#define ACCRUE_TESTS_RANDOMIZED_EXPECTATION_HPP

#include "support/oracle.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

// What the library should hold after each call, and the comparison. No templates: it is compiled once for all recipes.

namespace randomized {

struct counts {
  std::int64_t microbatches = 0, ignored = 0, samples = 0, tokens = 0, ignored_tokens = 0, positions = 0;

  counts& operator+=(counts const& more) {
    microbatches += more.microbatches, ignored += more.ignored, samples += more.samples;
    tokens += more.tokens, ignored_tokens += more.ignored_tokens, positions += more.positions;
    return *this;
  }
  counts& operator-=(counts const& less) {
    microbatches -= less.microbatches, ignored -= less.ignored, samples -= less.samples;
    tokens -= less.tokens, ignored_tokens -= less.ignored_tokens, positions -= less.positions;
    return *this;
  }
  friend bool operator==(counts const&, counts const&) = default;
};
inline counts counts_of(accrue::group_counts const& c) {
  return {c.microbatches.value(), c.ignored_microbatches.value(), c.samples.value(),
          c.tokens.value(),       c.ignored_tokens.value(),       c.positions.value()};
}

/// What a ledger says in numbers.
struct book {
  counts processed, dropped, again;
  std::int64_t groups = 0, attempted = 0, applied = 0, skipped = 0, consecutive_skips = 0, empty = 0,
               dropped_groups = 0, carried = 0, started_again = 0;
  friend bool operator==(book const&, book const&) = default;
};
inline book book_of(accrue::ledger const& l) {
  return {{l.microbatches().value(), l.ignored_microbatches().value(), l.samples().value(), l.tokens().value(),
           l.ignored_tokens().value(), l.positions().value()},
          counts_of(l.dropped()),
          counts_of(l.started_again()),
          l.groups(),
          l.attempted().value(),
          l.applied().value(),
          l.skipped().value(),
          l.consecutive_skips().value(),
          l.empty_groups(),
          l.dropped_groups(),
          l.times_carried(),
          l.groups_started_again()};
}

/// Keeps the microbatches of the open group and the ledger that there should be; the oracle forms the update.
class expectation {
 public:
  oracle::settings settings;

  void start(std::vector<oracle::precision> views, std::vector<std::vector<oracle::number>> parameters) {
    model_ = oracle::model(std::move(views), std::move(parameters));
  }
  [[nodiscard]] std::size_t views() const { return model_.views().size(); }
  [[nodiscard]] std::size_t held() const { return held_.size(); }
  [[nodiscard]] counts const& held_counts() const { return held_counts_; }
  [[nodiscard]] book const& ledger() const { return book_; }

  void add(oracle::microbatch m, counts const& more) {
    held_.push_back(std::move(m));
    held_counts_ += more;
    book_.processed += more;
  }

  // What becomes of the open group.

  /// Updates; `padded` multiplies the weight.
  accrue::outcome close(oracle::real padded = 1) {
    if (held_.empty()) return accrue::outcome::empty;
    gradient_ = oracle::finalize(settings, model_.views(), held_, padded);
    oracle::finalized const& g = *gradient_;
    bool const applied = !g.empty && g.finite;
    if (applied) model_.update(settings, g);
    book_.empty += g.empty ? 1 : 0;
    book_.attempted += g.empty ? 0 : 1;
    book_.applied += applied ? 1 : 0;
    book_.skipped += g.empty || applied ? 0 : 1;
    if (!g.empty) book_.consecutive_skips = applied ? 0 : book_.consecutive_skips + 1;
    return open_next(g.empty   ? accrue::outcome::empty
                     : applied ? accrue::outcome::applied
                               : accrue::outcome::skipped_non_finite);
  }
  accrue::outcome drop(accrue::outcome as) {
    if (held_.empty()) return accrue::outcome::empty;
    ++book_.dropped_groups;
    book_.dropped += held_counts_;
    return open_next(as);
  }
  void start_again() {
    if (held_.empty()) return;
    ++book_.started_again;
    book_.processed -= held_counts_;
    book_.again += std::exchange(held_counts_, {});
    held_.clear();
  }
  accrue::outcome carry() {
    if (held_.empty()) return accrue::outcome::empty;
    ++book_.carried;
    return accrue::outcome::carried;
  }

  // The comparison.

  void compare(accrue::ledger const& ledger) {
    CHECK(book_of(ledger) == book_);
    if (!closed_as_) return;
    accrue::record const record = ledger.records().back();
    CHECK(record.number == book_.groups);
    CHECK(record.result == *closed_as_);
    CHECK(counts_of(record.counts) == closed_counts_);
    if (gradient_ && !gradient_->empty) compare(record, *gradient_);
    closed_as_.reset();
    gradient_.reset();
  }

  /// Takes the parameters over afterwards, so that rounding errors do not pile up.
  void compare(std::vector<std::vector<oracle::number>> const& parameters) {
    REQUIRE(parameters.size() == views());
    std::size_t wrong = 0;
    for (std::size_t v = 0; v < parameters.size(); ++v) {
      REQUIRE(parameters[v].size() == model_.parameters(v).size());
      for (std::size_t i = 0; i < parameters[v].size(); ++i) {
        oracle::estimate const& expected = model_.parameters(v)[i];
        oracle::number const off = parameters[v][i] - expected.value;
        // Each part on its own, and so that NaN is wrong.
        if (!(std::abs(off.real()) <= expected.error && std::abs(off.imag()) <= expected.error)) ++wrong;
      }
      model_.settle(v, parameters[v]);
    }
    CHECK(wrong == 0);
  }

  /// What the open group is worth as it stands; none if it is worth nothing.
  [[nodiscard]] bool measurable() const { return !oracle::finalize(settings, model_.views(), held_).empty; }
  void compare(accrue::gradient_summary const& found) const {
    oracle::finalized const g = oracle::finalize(settings, model_.views(), held_);
    CHECK(found.finite == g.finite);
    if (g.finite) CHECK(std::abs(found.norm - g.norm) <= g.norm_error);
  }

 private:
  accrue::outcome open_next(accrue::outcome result) {
    ++book_.groups;
    closed_as_ = result;
    closed_counts_ = std::exchange(held_counts_, {});
    held_.clear();
    return result;
  }

  void compare(accrue::record const& record, oracle::finalized const& g) const {
    bool const whole_numbers = settings.normalization != oracle::unit::weight;
    auto const additions = static_cast<oracle::real>(whole_numbers ? 0 : closed_counts_.microbatches);
    CHECK(std::abs(record.weight - g.weight) <= additions * oracle::double_roundoff * g.weight);
    if (g.finite) {
      CHECK(std::abs(record.norm - g.norm) <= g.norm_error);
      CHECK(std::abs(record.clip_factor - g.clip_factor) <= g.clip_factor_error);
    }
    CHECK(record.loss.has_value() == g.loss.has_value());
    if (record.loss && g.loss) CHECK(std::abs(*record.loss - *g.loss) <= g.loss_error);
  }

  oracle::model model_{{}, {}};
  std::vector<oracle::microbatch> held_;
  counts held_counts_;
  book book_;

  std::optional<accrue::outcome> closed_as_;  // since the last comparison
  counts closed_counts_;
  std::optional<oracle::finalized> gradient_;
};

}  // namespace randomized

#endif

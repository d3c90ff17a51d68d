// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_LEDGER_LEDGER_HPP
#define ACCRUE_LEDGER_LEDGER_HPP

#include <accrue/core/decision.hpp>
#include <accrue/core/run_clock.hpp>
#include <accrue/ledger/record.hpp>
#include <accrue/ledger/rejection.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <ostream>
#include <vector>

namespace accrue {

/// Closed groups whose records are kept, on the host and on the device; older ones live in observers.
inline constexpr std::int64_t records_kept = 256;

/// Exact totals for ever, and the records of the last closed groups.
///
/// Counts of samples and tokens move with every microbatch, those of updates when a group closes. They are of what was
/// handed over, `rejected()` says how much of it was left out. Every total has its unit as type: what counts applied
/// updates does not convert to microbatches.
class ledger {
 public:
  ledger() : records_(static_cast<std::size_t>(records_kept)) {}

  [[nodiscard]] accrue::microbatches microbatches() const { return processed_.microbatches; }
  [[nodiscard]] accrue::microbatches ignored_microbatches() const { return processed_.ignored_microbatches; }
  [[nodiscard]] accrue::samples samples() const { return processed_.samples; }
  [[nodiscard]] accrue::tokens tokens() const { return processed_.tokens; }
  [[nodiscard]] accrue::ignored_tokens ignored_tokens() const { return processed_.ignored_tokens; }
  [[nodiscard]] accrue::positions positions() const { return processed_.positions; }

  /// Of all these, what `reject_microbatch` left out.
  [[nodiscard]] group_counts rejected() const { return settled_totals_.rejected.checked(); }
  [[nodiscard]] accrue::microbatches rejected_microbatches() const { return rejected().microbatches; }
  /// The last of them, oldest first; at most `records_kept`.
  [[nodiscard]] std::vector<rejection> rejections() const { return rejections_.list(); }

  [[nodiscard]] updates attempted() const { return updates{attempted_.value() - settled_totals_.emptied}; }
  [[nodiscard]] updates applied() const { return updates{settled_totals_.applied}; }
  [[nodiscard]] updates skipped() const { return updates{settled_totals_.skipped}; }  ///< as non-finite
  [[nodiscard]] updates vetoed() const { return updates{settled_totals_.vetoed}; }
  /// Groups in a row that failed: skipped as non-finite, or left empty by rejections.
  [[nodiscard]] updates consecutive_skips() const { return updates{settled_totals_.consecutive_skips}; }

  [[nodiscard]] std::int64_t groups() const { return closed_; }  ///< closed ones
  [[nodiscard]] std::int64_t empty_groups() const { return empty_ + settled_totals_.emptied; }
  [[nodiscard]] std::int64_t dropped_groups() const { return dropped_; }  ///< by `drop_last` or `discard()`
  [[nodiscard]] std::int64_t times_carried() const { return carried_; }
  [[nodiscard]] group_counts const& dropped() const { return dropped_counts_; }  ///< what the dropped groups held
  [[nodiscard]] accrue::microbatches dropped_microbatches() const { return dropped_counts_.microbatches; }

  /// Groups that were begun anew, by `start_again()`, and what they had held by then: it was handed over again, and no
  /// other total counts it.
  [[nodiscard]] std::int64_t groups_started_again() const { return started_again_; }
  [[nodiscard]] group_counts const& started_again() const { return started_again_counts_; }

  /// What all replicas handed over to groups that are closed; records count the same. The other totals are of this
  /// replica.
  [[nodiscard]] group_counts const& over_replicas() const { return over_replicas_; }
  [[nodiscard]] std::int64_t groups_over_replicas() const { return groups_over_replicas_; }

  /// The last closed groups, oldest first; at most `records_kept`.
  [[nodiscard]] std::vector<record> records() const {
    std::vector<record> kept;
    for (std::int64_t n = std::max<std::int64_t>(1, closed_ - records_kept + 1); n <= closed_; ++n)
      kept.push_back(at(n));
    return kept;
  }

  friend std::ostream& operator<<(std::ostream& out, ledger const& l) {
    out << l.microbatches() << ", " << l.samples() << ", " << l.tokens() << " (" << l.ignored_tokens().value()
        << " ignored); updates attempted " << l.attempted().value() << ", applied " << l.applied().value()
        << ", skipped " << l.skipped().value();
    if (l.vetoed().value() > 0) out << ", vetoed " << l.vetoed().value();
    if (l.rejected_microbatches().value() > 0) out << "; rejected " << l.rejected_microbatches();
    out << "; groups closed " << l.groups() << ", empty " << l.empty_groups() << ", dropped " << l.dropped_groups()
        << " (" << l.dropped_microbatches() << ')';
    if (l.groups_started_again() > 0)
      out << ", started again " << l.groups_started_again() << " (" << l.started_again().microbatches << ')';
    return out;
  }

  // The rest is the accumulator's side of the book.

  /// Totals as they will be after a microbatch; throws where one overflows, with nothing changed.
  [[nodiscard]] group_counts with(microbatch_facts const& facts, bool ignored) const {
    group_counts sum = processed_;
    sum.add(facts, ignored);
    return sum;
  }
  void book_microbatch(group_counts const& totals) noexcept { processed_ = totals; }
  [[nodiscard]] rejection_book& rejection_list() { return rejections_; }

  /// Enters a closed group; its outcome, norm and loss are pending where `attempted` and come with `settle`. Its counts
  /// are those of all replicas, `own` what this one handed over, where there are others.
  void book_group(record entry, bool is_attempted, group_counts const* own = nullptr) {
    entry.number = ++closed_;
    if (own != nullptr) ++groups_over_replicas_;
    over_replicas_ += entry.counts;
    if (is_attempted) attempted_ += updates{1};
    if (entry.result == outcome::empty) ++empty_;
    if (entry.result == outcome::dropped_last || entry.result == outcome::discarded) {
      ++dropped_;
      dropped_counts_ += own != nullptr ? *own : entry.counts;
    }
    slot(closed_) = std::move(entry);
  }
  /// Takes back what the open group holds.
  void take_back(group_counts const& held) {
    group_counts all = started_again_counts_;
    all += held;
    started_again_counts_ = all;
    ++started_again_;
    processed_ = processed_.without(held);
  }
  void book_carried() noexcept { ++carried_; }

  /// How far the run is without the open group, as kernels may ask; `totals` are on the device.
  [[nodiscard]] run_clock clock(device_totals const* totals) const {
    return {totals, attempted_.value(), over_replicas_.samples.value(), over_replicas_.tokens.value()};
  }

  [[nodiscard]] std::int64_t unsettled() const { return closed_ - settled_; }
  [[nodiscard]] std::int64_t unshown() const { return closed_ - shown_; }

  /// Takes over what the device decided, and calls `visit(record)` once for every group, oldest first. All groups are
  /// settled before the first visit: it may ask for the ledger, and throw.
  template <class Visit>
  void settle(device_record const* ring, device_totals const& totals, Visit&& visit) {
    settled_totals_ = totals;
    for (std::int64_t n = std::max(settled_ + 1, closed_ - records_kept + 1); n <= closed_; ++n) {
      record& entry = slot(n);
      device_record const& found = ring[n % records_kept];
      if (found.number == n) {
        entry.result = found.result;
        entry.norm = found.norm;
        entry.clip_factor = found.clip_factor;
        entry.loss_scale = found.loss_scale;
        if (entry.result == outcome::empty) entry.loss.reset();
        if (entry.loss) entry.loss = found.loss;
        if (found.weight >= 0.0) {
          entry.weight = found.weight;
          entry.own = {found.own_square, found.own_weight};
          entry.rejected = found.rejected.checked();
          entry.counts = entry.counts.without(entry.rejected);
        }
      }
    }
    settled_ = closed_;
    shown_ = std::max(shown_, closed_ - records_kept);
    while (shown_ < settled_) visit(at(++shown_));
  }

  /// For a restart, see `field_writer`. Order: settled.
  template <class Visit>
  void state(Visit&& visit) {
    visit(processed_, dropped_counts_, attempted_, settled_totals_, closed_, empty_, dropped_, carried_, rejections_,
          over_replicas_, groups_over_replicas_, started_again_, started_again_counts_);
    for (std::int64_t back = std::min(closed_, records_kept); back > 0; --back) visit(slot(closed_ - back + 1));
    settled_ = shown_ = closed_;
  }
  void show_device(device_totals& totals) const { totals = settled_totals_; }
  /// Whether the numbers can have come about by booking.
  [[nodiscard]] bool plausible() const {
    device_totals const& d = settled_totals_;
    bool sane = closed_ >= 0 && closed_ < std::numeric_limits<std::int64_t>::max() / 2 && carried_ >= 0 &&
                empty_ >= 0 && empty_ <= closed_ && dropped_ >= 0 && dropped_ <= closed_ - empty_ &&
                attempted_.value() <= closed_ - empty_ - dropped_ && d.applied >= 0 && d.skipped >= 0 &&
                d.applied <= attempted_.value() && d.skipped <= attempted_.value() && d.vetoed >= 0 &&
                d.vetoed <= attempted_.value() && d.emptied >= 0 && d.emptied <= attempted_.value() &&
                d.consecutive_skips >= 0 && d.consecutive_skips <= d.skipped + d.emptied && d.rejected.plausible() &&
                d.rejected.microbatches <= processed_.microbatches.value() && groups_over_replicas_ >= 0 &&
                groups_over_replicas_ <= closed_ && started_again_ >= 0 && rejections_.plausible(d.rejections);
    for (std::int64_t back = std::min(closed_, records_kept); back > 0; --back)
      sane = sane && at(closed_ - back + 1).number == closed_ - back + 1 && at(closed_ - back + 1).plausible();
    return sane;
  }

 private:
  [[nodiscard]] record const& at(std::int64_t number) const {
    return records_[static_cast<std::size_t>(number % records_kept)];
  }
  [[nodiscard]] record& slot(std::int64_t number) { return records_[static_cast<std::size_t>(number % records_kept)]; }

  group_counts processed_;
  group_counts dropped_counts_;
  updates attempted_;
  device_totals settled_totals_{};
  std::int64_t closed_ = 0;
  std::int64_t settled_ = 0;
  std::int64_t shown_ = 0;  ///< to observers
  std::int64_t empty_ = 0;
  std::int64_t dropped_ = 0;
  std::int64_t carried_ = 0;
  group_counts over_replicas_;
  std::int64_t groups_over_replicas_ = 0;
  std::int64_t started_again_ = 0;
  group_counts started_again_counts_;
  std::vector<record> records_;
  rejection_book rejections_{records_kept};
};

}  // namespace accrue
#endif

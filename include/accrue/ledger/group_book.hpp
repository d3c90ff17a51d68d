// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_LEDGER_GROUP_BOOK_HPP
#define ACCRUE_LEDGER_GROUP_BOOK_HPP

#include <accrue/core/decision.hpp>
#include <accrue/core/gate_state.hpp>
#include <accrue/core/launch_once.hpp>
#include <accrue/ledger/ledger.hpp>
#include <accrue/ledger/observer.hpp>
#include <accrue/ledger/record_ring.hpp>
#include <accrue/ledger/update_handle.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace accrue {

/// Takes what was left out of the open group off the totals.
struct take_back_rejections {
  gate_state const* gate;
  device_totals* totals;
  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    totals->rejected.take_back(gate->rejected);
    totals->rejections -= gate->rejected.microbatches;
  }
};

/// The ledger stage of one accumulator: enters groups as they close, and brings in what the device decided when asked.
template <class Exec>
class group_book {
 public:
  using handle = update_handle<Exec>;

  explicit group_book(Exec const& exec, bool notes_rejections = false) : latest_(exec), ring_(exec, notes_rejections) {}

  [[nodiscard]] observer_list& observers() { return observers_; }
  [[nodiscard]] accrue::ledger& totals() { return ledger_; }
  [[nodiscard]] std::int64_t next_number() const { return ledger_.groups() + 1; }
  [[nodiscard]] device_record* next_slot() const { return ring_.slot(next_number()); }
  [[nodiscard]] device_totals* device_side() const { return ring_.totals(); }
  [[nodiscard]] device_rejection* rejections() const { return ring_.rejections(); }
  /// How far the run is at the group that closes next, for rules that depend on it.
  [[nodiscard]] run_clock clock() const { return ledger_.clock(device_side()); }
  /// What the device found out about the group that was closed last, and the totals with it. Cost: one fence.
  struct finding {
    device_record record;
    device_totals totals;
  };
  [[nodiscard]] finding look() const {
    device_book found;
    ring_.read(latest_, found);
    return {found.records[ledger_.groups() % records_kept], found.totals};
  }

  /// Notes that a microbatch may be rejected on `exec`, and its sample ids. Fences when as many ids wait as are kept.
  void may_be_rejected(Exec const& exec) {
    latest_ = exec;
    unread_ = true;
  }
  void hand_over_ids(std::int64_t microbatch, std::int64_t const* first, std::size_t count) {
    if (ledger_.rejection_list().waiting() >= records_kept) settle();
    ledger_.rejection_list().hand_over(microbatch, first, count);
  }

  /// Makes sure that the next group overwrites no record that an observer still waits for. May fence.
  void make_room() {
    if (observers_.want_records() && ledger_.unshown() >= records_kept) settle();
  }

  /// Enters a group whose outcome the host knows.
  handle close(Exec const& exec, record entry, outcome known, group_counts const* own = nullptr) {
    make_room();
    entry.result = known;
    ledger_.book_group(entry, false, own);
    return {exec, ring_, known};
  }
  /// Enters a group that the device decides about on `exec`, in the record `next_slot()`. `own` is what this replica
  /// handed over, where there are others.
  handle close_attempted(Exec const& exec, record entry, group_counts const* own = nullptr) {
    entry.result = outcome::applied;  // until it is settled
    ledger_.book_group(entry, true, own);
    latest_ = exec;
    return {exec, ring_, ledger_.groups()};
  }
  /// Takes back what the open group holds, and what a gate on the device has left out of it, where it looked at some.
  ///
  /// Cost: two fences where it did.
  void take_back(group_counts const& held, gate_state const* left_out) {
    if (left_out != nullptr) {
      settle();
      launch_once("accrue::ledger::take_back", latest_, take_back_rejections{left_out, ring_.totals()});
      settle();
      ledger_.rejection_list().take_back(next_number());
    }
    ledger_.take_back(held);
  }
  /// For calls that close nothing.
  [[nodiscard]] handle nothing_closed(Exec const& exec, outcome known) const { return {exec, ring_, known}; }

  /// The totals and the last records. Cost: one fence, if groups were closed since the last call.
  [[nodiscard]] accrue::ledger const& settled() {
    if (ledger_.unsettled() > 0 || unread_) settle();
    return ledger_;
  }

  /// For a restart: takes over a ledger that is settled. Order: `empty_ring` is written on `exec`, and must stay until
  /// a fence.
  void restore(Exec const& exec, accrue::ledger saved, device_book const* empty_ring) {
    ledger_ = std::move(saved);
    ring_.write(exec, empty_ring);
    latest_ = exec;
  }

 private:
  void settle() {
    device_book found;
    ring_.read(latest_, found);
    unread_ = false;
    if (ring_.notes_rejections()) {
      std::vector<device_rejection> rejections(static_cast<std::size_t>(records_kept));
      ring_.read_rejections(latest_, rejections.data());
      ledger_.rejection_list().settle(rejections.data(), found.totals.rejections);
    }
    ledger_.settle(found.records, found.totals, [&](record const& entry) { observers_.group_recorded(entry); });
  }

  Exec latest_;  ///< of the last update, which reading waits for
  record_ring<Exec> ring_;
  bool unread_ = false;  ///< rejections may have come since the last look
  accrue::ledger ledger_;
  observer_list observers_;
};

}  // namespace accrue
#endif

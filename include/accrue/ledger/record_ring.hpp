// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_LEDGER_RECORD_RING_HPP
#define ACCRUE_LEDGER_RECORD_RING_HPP

#include <accrue/core/decision.hpp>
#include <accrue/core/device_array.hpp>
#include <accrue/core/error.hpp>
#include <accrue/core/rejection.hpp>
#include <accrue/ledger/ledger.hpp>

#include <cstdint>
#include <string>

namespace accrue {

/// The device's half of the records, and the totals that only the device knows. The host reads it when asked.
struct device_book {
  device_totals totals;
  device_record records[records_kept];
};

template <class Exec>
class record_ring {
 public:
  /// Where microbatches may be rejected there is room to note the last of them.
  explicit record_ring(Exec const& exec, bool notes_rejections = false) : book_(exec, "accrue::ledger::records", 1) {
    if (notes_rejections) rejections_ = {exec, "accrue::ledger::rejections", static_cast<std::size_t>(records_kept)};
  }

  [[nodiscard]] device_record* slot(std::int64_t number) const { return &book_.data()->records[number % records_kept]; }
  [[nodiscard]] device_totals* totals() const { return &book_.data()->totals; }

  /// Waits for the instance and reads everything. Cost: one fence, one copy of 30 KiB.
  void read(Exec const& exec, device_book& to) const {
    book_.read(exec, "accrue::ledger: read the records", 0, 1, &to);
  }

  [[nodiscard]] bool notes_rejections() const { return rejections_.size() > 0; }
  [[nodiscard]] device_rejection* rejections() const { return rejections_.data(); }
  void read_rejections(Exec const& exec, device_rejection* to) const {
    rejections_.read(exec, "accrue::ledger: read the rejections", 0, rejections_.size(), to);
  }
  /// Order: as `device_array::write`.
  void write(Exec const& exec, device_book const* from) const { book_.write(exec, from); }

  /// Waits for the instance and reads one group's record.
  ///
  /// Failure: `accrue::error` once the ring has moved on.
  [[nodiscard]] device_record read_one(Exec const& exec, std::int64_t number) const {
    device_book book;
    read(exec, book);
    device_record const& found = book.records[number % records_kept];
    if (found.number != number)
      throw error("accrue::update_handle: group " + std::to_string(number) + " is no longer among the last " +
                      std::to_string(records_kept) + " records",
                  "its outcome was overwritten", "ask earlier, or keep records with an observer");
    return found;
  }

 private:
  device_array<device_book, Exec> book_;
  device_array<device_rejection, Exec> rejections_;
};

}  // namespace accrue
#endif

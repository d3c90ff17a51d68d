// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_LEDGER_RECORD_RING_HPP
#define ACCRUE_LEDGER_RECORD_RING_HPP

#include <accrue/core/decision.hpp>
#include <accrue/core/error.hpp>
#include <accrue/ledger/ledger.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace accrue {

/// The device's half of the records, and the totals that only the device knows. The host reads it when asked.
template <class Exec> class record_ring {
  using memory_space = typename Exec::memory_space;
  using host_records = Kokkos::View<device_record*, Kokkos::HostSpace>;
  using host_totals = Kokkos::View<device_totals, Kokkos::HostSpace>;

 public:
  record_ring()
      : records_("accrue::ledger::records", static_cast<std::size_t>(records_kept)),
        totals_("accrue::ledger::totals"),
        host_records_(records_on_host(records_)),
        host_totals_(totals_on_host(totals_)) {}

  [[nodiscard]] device_record* slot(std::int64_t number) const { return records_.data() + number % records_kept; }
  [[nodiscard]] device_totals* totals() const { return totals_.data(); }

  /// Waits for the instance and reads everything; the pointers stay valid. Cost: one fence, two small copies.
  void read(Exec const& exec) const {
    if constexpr (!shares_memory) {
      Kokkos::deep_copy(exec, host_records_, records_);
      Kokkos::deep_copy(exec, host_totals_, totals_);
    }
    exec.fence("accrue::ledger: read the records");
  }
  [[nodiscard]] device_record const* host_records_data() const { return host_records_.data(); }
  [[nodiscard]] device_totals const& host_totals_value() const { return *host_totals_.data(); }

  /// Waits for the instance and reads one group's record.
  ///
  /// Failure: `accrue::error` once the ring has moved on.
  [[nodiscard]] device_record read_one(Exec const& exec, std::int64_t number) const {
    device_record found{};
    if constexpr (shares_memory) {
      exec.fence("accrue::ledger: read one record");
      found = *slot(number);
    } else {
      auto const at = static_cast<std::size_t>(number % records_kept);
      auto const one = Kokkos::subview(records_, Kokkos::pair<std::size_t, std::size_t>(at, at + 1));
      Kokkos::View<device_record*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const target(&found, 1);
      Kokkos::deep_copy(exec, target, one);
      exec.fence("accrue::ledger: read one record");
    }
    if (found.number != number)
      throw error("accrue::update_handle: group " + std::to_string(number) + " is no longer among the last " +
                      std::to_string(records_kept) + " records",
                  "its outcome was overwritten", "ask earlier, or keep records with an observer");
    return found;
  }

 private:
  static constexpr bool shares_memory = std::is_same_v<memory_space, Kokkos::HostSpace>;

  template <class View> static host_records records_on_host(View const& view) {
    if constexpr (shares_memory)
      return view;
    else
      return host_records("accrue::ledger::records_on_host", view.extent(0));
  }
  template <class View> static host_totals totals_on_host(View const& view) {
    if constexpr (shares_memory)
      return view;
    else
      return host_totals("accrue::ledger::totals_on_host");
  }

  Kokkos::View<device_record*, memory_space> records_;
  Kokkos::View<device_totals, memory_space> totals_;
  host_records host_records_;
  host_totals host_totals_;
};

/// What `update()` and `end_of_data()` return: asks the device only when compared or read.
///
/// Cost: comparing fences the instance, unless the host knew the outcome. Failure: `accrue::error` where the group is
/// no longer among the last 256.
template <class Exec> class update_handle {
 public:
  update_handle(Exec exec, record_ring<Exec> ring, std::int64_t number)
      : exec_(std::move(exec)), ring_(std::move(ring)), number_(number) {}
  update_handle(Exec exec, record_ring<Exec> ring, outcome known)
      : exec_(std::move(exec)), ring_(std::move(ring)), known_(known) {}

  /// The outcome. Fences where the device decides.
  [[nodiscard]] outcome result() const { return known_ ? *known_ : ring_.read_one(exec_, number_).result; }

  friend bool operator==(update_handle const& handle, outcome o) { return handle.result() == o; }

 private:
  Exec exec_;
  record_ring<Exec> ring_;
  std::int64_t number_ = 0;
  std::optional<outcome> known_;
};

}  // namespace accrue
#endif

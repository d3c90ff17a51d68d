// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_LEDGER_UPDATE_HANDLE_HPP
#define ACCRUE_LEDGER_UPDATE_HANDLE_HPP

#include <accrue/core/outcome.hpp>
#include <accrue/ledger/record_ring.hpp>

#include <cstdint>
#include <optional>
#include <ostream>
#include <utility>

namespace accrue {

/// What `update()` and `end_of_data()` return: asks the device only when compared or read.
///
/// Cost: comparing fences the instance, unless the host knew the outcome. Failure: `accrue::error` where the group is
/// no longer among the last 256.
template <class Exec>
class update_handle {
 public:
  update_handle(Exec exec, record_ring<Exec> ring, std::int64_t number)
      : exec_(std::move(exec)), ring_(std::move(ring)), number_(number) {}
  update_handle(Exec exec, record_ring<Exec> ring, outcome known)
      : exec_(std::move(exec)), ring_(std::move(ring)), known_(known) {}

  /// The outcome. Fences where the device decides.
  [[nodiscard]] outcome result() const { return known_ ? *known_ : ring_.read_one(exec_, number_).result; }

  friend bool operator==(update_handle const& handle, outcome o) { return handle.result() == o; }
  friend std::ostream& operator<<(std::ostream& out, update_handle const& handle) { return out << handle.result(); }

 private:
  Exec exec_;
  record_ring<Exec> ring_;
  std::int64_t number_ = 0;
  std::optional<outcome> known_;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_LEDGER_REJECTION_HPP
#define ACCRUE_LEDGER_REJECTION_HPP

#include <accrue/core/rejection.hpp>
#include <accrue/core/scalar.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <ostream>
#include <utility>
#include <vector>

namespace accrue {

/// A microbatch that was left out of its group.
struct rejection {
  std::int64_t microbatch = 0;  ///< its number among all of the run, from 1
  std::int64_t group = 0;       ///< that it would have been part of, from 1
  rejection_cause cause = rejection_cause::not_a_number;
  double norm = std::numeric_limits<double>::quiet_NaN();  ///< of its own gradient
  std::vector<std::int64_t> sample_ids;                    ///< as they were handed over

  /// For a restart, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(microbatch, group, cause, norm, sample_ids);
  }
};

inline std::ostream& operator<<(std::ostream& out, rejection const& r) {
  out << "microbatch " << r.microbatch << " of group " << r.group << " rejected: " << r.cause << ", norm ";
  if (is_not_a_number(r.norm))
    out << "nan";  // without its sign, which means nothing
  else
    out << r.norm;
  if (!r.sample_ids.empty()) {
    out << ", samples";
    for (std::int64_t const id : r.sample_ids) out << ' ' << id;
  }
  return out;
}

/// The last rejections, and the sample ids of microbatches that may yet turn out to be among them.
class rejection_book {
 public:
  explicit rejection_book(std::int64_t kept) : kept_(kept) {}

  void hand_over(std::int64_t microbatch, std::int64_t const* first, std::size_t count) {
    while (!waiting_.empty() && waiting_.back().microbatch >= microbatch)
      waiting_.pop_back();  // its call had failed, or its group was started again
    waiting_.push_back({microbatch, {first, first + count}});
  }
  [[nodiscard]] std::int64_t waiting() const { return static_cast<std::int64_t>(waiting_.size()); }

  /// Takes over what the device noted; `total` rejections there were in all. Nothing waits after it.
  void settle(device_rejection const* ring, std::int64_t total) {
    for (std::int64_t n = std::max(known_ + 1, total - kept_ + 1); n <= total; ++n) {
      device_rejection const& found = ring[n % kept_];
      last_.push_back({found.microbatch, found.group, found.cause, found.norm, ids_of(found.microbatch)});
      if (static_cast<std::int64_t>(last_.size()) > kept_) last_.pop_front();
    }
    known_ = total;
    waiting_.clear();
  }

  /// Forgets those of the open group. Order: settled, with a total that does not count them any more.
  void take_back(std::int64_t open_group) {
    while (!last_.empty() && last_.back().group == open_group) last_.pop_back();
  }

  /// For a restart, see `field_writer`. Order: settled.
  template <class Visit>
  void state(Visit&& visit) {
    std::int64_t size = static_cast<std::int64_t>(last_.size());
    visit(known_, size);
    bool const sane = size >= 0 && size <= kept_;
    if (!sane) known_ = -1;  // which `plausible` refuses
    last_.resize(static_cast<std::size_t>(sane ? size : 0));
    for (rejection& each : last_) visit(each);
    waiting_.clear();
  }
  [[nodiscard]] bool plausible(std::int64_t total) const {
    return known_ == total && known_ >= static_cast<std::int64_t>(last_.size());
  }

  [[nodiscard]] std::vector<rejection> list() const { return {last_.begin(), last_.end()}; }

 private:
  struct handed_over {
    std::int64_t microbatch;
    std::vector<std::int64_t> ids;
  };
  [[nodiscard]] std::vector<std::int64_t> ids_of(std::int64_t microbatch) const {
    auto const at = std::lower_bound(waiting_.begin(), waiting_.end(), microbatch,
                                     [](handed_over const& a, std::int64_t b) { return a.microbatch < b; });
    if (at == waiting_.end() || at->microbatch != microbatch) return {};
    return at->ids;
  }

  std::int64_t kept_;
  std::int64_t known_ = 0;
  std::deque<rejection> last_;
  std::deque<handed_over> waiting_;
};

}  // namespace accrue
#endif

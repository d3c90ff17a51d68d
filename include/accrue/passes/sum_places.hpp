// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_SUM_PLACES_HPP
#define ACCRUE_PASSES_SUM_PLACES_HPP

#include <accrue/core/strided.hpp>
#include <accrue/passes/device_table.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace accrue {

/// Where the sum of each view lies, by its number: in memory of our own, or, for one group, in a gradient that was
/// adopted.
template <class Exec>
class sum_places {
 public:
  sum_places() = default;
  sum_places(Exec const& exec, std::vector<strided> own)
      : now_(exec, "accrue::passes::sums", own, table_versions), own_(std::move(own)) {}

  [[nodiscard]] strided const& operator[](std::size_t at) const { return now_[at]; }
  /// Where it lies if nothing is adopted.
  [[nodiscard]] strided const& own(std::size_t at) const { return own_[at]; }
  [[nodiscard]] bool at_home() const { return !adopted_; }

  /// The sum of a view lies in this gradient, which is dense, until all come home.
  void adopt(std::size_t at, strided const& gradient) {
    now_.set(at, run_of(gradient.data, gradient.size, gradient.scalar));
    adopted_ = true;
  }
  void come_home() {
    for (std::size_t at = 0; at < own_.size(); ++at) now_.set(at, own_[at]);
    adopted_ = false;
  }

  void upload(Exec const& exec) { now_.upload(exec); }
  /// For kernels, which see what was set before the upload.
  [[nodiscard]] strided const* data() const { return now_.data(); }

 private:
  device_table<strided, Exec> now_;
  std::vector<strided> own_;
  bool adopted_ = false;
};

}  // namespace accrue
#endif

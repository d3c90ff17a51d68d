// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_TOUCH_TABLE_HPP
#define ACCRUE_PASSES_TOUCH_TABLE_HPP

#include <accrue/passes/device_table.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace accrue {

/// Which views of a launch are touched for the first time in their group, and so overwritten instead of added to.
enum class first_touch : std::int32_t {
  none,
  all,
  some,  ///< those whose flag is 0
  told,  ///< those whose flag is 2, as a gate on the device has set it
};

/// For each view of the model, by its number: whether the open group has touched it, and what its raw sum is still to
/// be multiplied by, 1 but for a gradient that was written into the buffer and waits for its weight, and under a
/// division that multiplies the sums of an open group.
template <class Exec>
class touch_table {
 public:
  touch_table() = default;
  touch_table(Exec const& exec, std::size_t views)
      : touched_(exec, "accrue::passes::touched", std::vector<std::uint8_t>(views, 0), table_versions),
        keep_(exec, "accrue::passes::keep", std::vector<double>(views, 1.0), table_versions) {}

  [[nodiscard]] bool any() const { return touched_count_ > 0; }
  [[nodiscard]] bool all() const { return touched_count_ == touched_.size(); }
  /// Every view is touched, and nothing waits for its weight.
  [[nodiscard]] bool settled() const { return all() && waiting_ == 0; }
  [[nodiscard]] bool waits() const { return waiting_ > 0; }
  [[nodiscard]] bool is_touched(std::size_t view) const { return touched_[view] != 0; }
  [[nodiscard]] double keep(std::size_t view) const { return keep_[view]; }

  void touch(std::size_t view, double keep) {
    touched_count_ += touched_[view] == 0 ? 1 : 0;
    touched_.set(view, 1);
    set_keep(view, keep);
  }

  /// Has the sums of all touched views multiplied by a factor, in their next pass.
  void multiply(double factor) {
    for (std::size_t v = 0; v < touched_.size(); ++v)
      if (touched_[v] != 0) set_keep(v, keep_[v] * factor);
  }

  /// Begins a group: nothing is touched, and the first touch will overwrite. Clearing is a state, not a pass.
  void forget() {
    for (std::size_t v = 0; v < touched_.size(); ++v) touched_.set(v, 0);
    touched_count_ = 0;
    for (std::size_t v = 0; waiting_ > 0 && v < keep_.size(); ++v) set_keep(v, 1.0);
  }

  // For kernels, which see what was set before the upload.
  void upload(Exec const& exec) {
    touched_.upload(exec);
    keep_.upload(exec);
  }
  [[nodiscard]] std::uint8_t const* flags() const { return touched_.data(); }
  [[nodiscard]] double const* keeps() const { return keep_.data(); }

 private:
  void set_keep(std::size_t view, double keep) {
    waiting_ += (keep != 1.0 ? 1 : 0) - (keep_[view] != 1.0 ? 1 : 0);
    keep_.set(view, keep);
  }

  device_table<std::uint8_t, Exec> touched_;
  device_table<double, Exec> keep_;
  std::size_t touched_count_ = 0;
  std::int64_t waiting_ = 0;  ///< views whose keep is not 1
};

}  // namespace accrue
#endif

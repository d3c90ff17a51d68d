// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_DEVICE_SCALARS_HPP
#define ACCRUE_CORE_DEVICE_SCALARS_HPP

#include <accrue/core/decision.hpp>
#include <accrue/core/device_array.hpp>
#include <accrue/core/gate_state.hpp>
#include <accrue/core/norm.hpp>

#include <cstdint>
#include <string>

namespace accrue {

/// The few numbers of an open group that live where the kernels run, so that no pass waits for the host.
struct group_scalars {
  norm_partial total;         ///< the norm of what was measured last
  double loss;                ///< sum of the losses that lie on the device
  gate_state gate;            ///< what was let through, where microbatches may be rejected
  group_verdict verdict;      ///< for accumulators that close together
  std::int64_t workers_gone;  ///< of the pass that is running, see exit_gate

  /// For a restart, between passes; see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(total, loss, gate);
  }
};

template <class Exec>
class device_scalars {
 public:
  explicit device_scalars(Exec const& exec) : scalars_(exec, "accrue::finalize::scalars", 1) {}

  [[nodiscard]] group_scalars* data() const { return scalars_.data(); }

  /// Waits for the instance and reads all of them.
  [[nodiscard]] group_scalars read(Exec const& exec, std::string const& fence_label) const {
    group_scalars found;
    scalars_.read(exec, fence_label, 0, 1, &found);
    return found;
  }
  /// Order: as `device_array::write`.
  void write(Exec const& exec, group_scalars const* from) const { scalars_.write(exec, from); }

 private:
  device_array<group_scalars, Exec> scalars_;
};

}  // namespace accrue
#endif

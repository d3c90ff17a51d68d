// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_DEVICE_TABLE_HPP
#define ACCRUE_PASSES_DEVICE_TABLE_HPP

#include <accrue/core/device_array.hpp>

#include <string>
#include <utility>
#include <vector>

namespace accrue {

/// A small table that the host writes and kernels read.
///
/// Guarantee: entries set before `upload(exec)` are seen by kernels launched on `exec` afterwards.
/// Cost: on the host nothing. On a device one asynchronous copy, and only when an entry has changed; no fence.
template <class T, class Exec>
class device_table {
 public:
  device_table() = default;
  device_table(Exec const& exec, std::string const& label, std::vector<T> entries)
      : host_(std::move(entries)), device_(exec, label, host_.size()) {
    device_.write(exec, host_.data());
  }

  [[nodiscard]] T const* data() const { return device_.data(); }
  [[nodiscard]] std::size_t size() const { return host_.size(); }
  [[nodiscard]] T const& operator[](std::size_t i) const { return host_[i]; }

  void set(std::size_t i, T const& entry) {
    if (host_[i] == entry) return;
    host_[i] = entry;
    if constexpr (runs_on_host_v<Exec>) {
      device_.data()[i] = entry;
    } else {
      changed_ = true;
    }
  }

  void upload([[maybe_unused]] Exec const& exec) {
    if constexpr (!runs_on_host_v<Exec>) {
      if (changed_) device_.write(exec, host_.data());
      changed_ = false;
    }
  }

 private:
  std::vector<T> host_;
  device_array<T, Exec> device_;
  bool changed_ = false;
};

}  // namespace accrue
#endif

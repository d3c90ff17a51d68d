// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_DEVICE_TABLE_HPP
#define ACCRUE_PASSES_DEVICE_TABLE_HPP

#include <Kokkos_Core.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace accrue {

/// True where kernels of this space run on the host and read the host's memory.
template <class Exec>
inline constexpr bool runs_on_host_v = std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>;

/// A small table that the host writes and kernels read.
///
/// Guarantee: entries set before `upload(exec)` are seen by kernels launched on `exec` afterwards.
/// Cost: on the host nothing. On a device one asynchronous copy, and only when an entry has changed; no fence.
template <class T, class Exec> class device_table {
  using memory_space = typename Exec::memory_space;
  using host_view = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

 public:
  device_table() = default;
  device_table(std::string const& label, std::vector<T> entries) : host_(std::move(entries)) {
    device_ = Kokkos::View<T*, memory_space>(label, host_.size());
    Kokkos::deep_copy(device_, host_view(host_.data(), host_.size()));
  }

  [[nodiscard]] T const* data() const { return device_.data(); }
  [[nodiscard]] std::size_t size() const { return host_.size(); }
  [[nodiscard]] T const& operator[](std::size_t i) const { return host_[i]; }

  void set(std::size_t i, T const& entry) {
    if (host_[i] == entry) return;
    host_[i] = entry;
    if constexpr (runs_on_host_v<Exec>) {
      device_(i) = entry;
    } else {
      changed_ = true;
    }
  }

  void upload([[maybe_unused]] Exec const& exec) {
    if constexpr (!runs_on_host_v<Exec>) {
      if (!changed_) return;
      Kokkos::deep_copy(exec, device_, host_view(host_.data(), host_.size()));
      changed_ = false;
    }
  }

 private:
  std::vector<T> host_;
  Kokkos::View<T*, memory_space> device_;
  bool changed_ = false;
};

}  // namespace accrue
#endif

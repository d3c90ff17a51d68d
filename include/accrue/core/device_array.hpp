// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_DEVICE_ARRAY_HPP
#define ACCRUE_CORE_DEVICE_ARRAY_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <string>
#include <type_traits>

namespace accrue {

/// True where kernels of this space run on the host and read the host's memory.
template <class Exec>
inline constexpr bool runs_on_host_v = std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>;

namespace detail {
/// Zeroed bytes under a label. One view of bytes below all element types, made in one place, because every type of view
/// and every place costs compile time.
template <class Exec>
[[gnu::noinline]] auto zeroed_bytes(Exec const& exec, std::string const& label, std::size_t size) {
  return Kokkos::View<unsigned char*, typename Exec::memory_space>(Kokkos::view_alloc(exec, label), size);
}
}  // namespace detail

/// Zeroed elements in the memory of an execution space, under a label, shared by copies as a view's are.
///
/// Order: zeroed on the instance that is given, without a fence of it.
template <class T, class Exec>
class device_array {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  using bytes = Kokkos::View<unsigned char*, typename Exec::memory_space>;

 public:
  device_array() = default;
  device_array(Exec const& exec, std::string const& label, std::size_t size)
      : bytes_(detail::zeroed_bytes(exec, label, size * sizeof(T))),
        data_(reinterpret_cast<T*>(bytes_.data())),
        size_(size) {}

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Waits for the instance and copies elements to the host. Cost: the one fence.
  void read(Exec const& exec, std::string const& fence_label, std::size_t first, std::size_t count, T* to) const {
    if constexpr (runs_on_host_v<Exec>) {
      exec.fence(fence_label);
      for (std::size_t i = 0; i < count; ++i) to[i] = data_[first + i];
    } else {
      auto const from = Kokkos::subview(bytes_, range(first, count));
      Kokkos::deep_copy(exec, host_bytes(reinterpret_cast<unsigned char*>(to), count * sizeof(T)), from);
      exec.fence(fence_label);
    }
  }

  /// Copies elements from the host. Order: asynchronous on `exec` on a device; the source must stay until a fence.
  void write([[maybe_unused]] Exec const& exec, T const* from) const {
    if constexpr (runs_on_host_v<Exec>) {
      for (std::size_t i = 0; i < size_; ++i) data_[i] = from[i];
    } else {
      auto* const source = const_cast<unsigned char*>(reinterpret_cast<unsigned char const*>(from));
      Kokkos::deep_copy(exec, bytes_, host_bytes(source, size_ * sizeof(T)));
    }
  }

 private:
  using host_bytes = Kokkos::View<unsigned char*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  [[nodiscard]] static Kokkos::pair<std::size_t, std::size_t> range(std::size_t first, std::size_t count) {
    return {first * sizeof(T), (first + count) * sizeof(T)};
  }

  bytes bytes_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace accrue
#endif

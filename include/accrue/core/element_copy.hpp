// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_ELEMENT_COPY_HPP
#define ACCRUE_CORE_ELEMENT_COPY_HPP

#include <accrue/core/device_array.hpp>
#include <accrue/core/strided.hpp>

#include <Kokkos_Core.hpp>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace accrue {

/// Copies elements of any type between a view and dense memory, in the order of the view; in words of two bytes, of
/// which every scalar has some.
struct copy_elements {
  strided view;
  std::uint16_t* dense;
  std::int64_t words;  ///< of an element
  bool into_view;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    auto* const there = static_cast<std::uint16_t*>(view.data) + view.offset(i) * words;
    auto* const here = dense + i * words;
    for (std::int64_t w = 0; w < words; ++w) {
      if (into_view)
        there[w] = here[w];
      else
        here[w] = there[w];
    }
  }
};

/// Carries the elements of views of the device to the host and back, in the order of the view.
///
/// Order: begins after what was launched on `exec`; `read` waits, `write` does not, and its source must stay until
/// `finish`. Cost: allocates room for the largest view that is not contiguous, on a device only; a fence for each read.
template <class Exec>
class element_copy {
 public:
  /// `room` is that of the largest view that is not contiguous, in bytes.
  element_copy(Exec const& exec, std::size_t room) : exec_(exec) {
    if constexpr (runs_on_host_v<Exec>)
      exec_.fence("accrue::restart: wait for the host");
    else
      room_ = {exec, "accrue::restart::room", (room + 1) / 2};
  }

  void read(strided const& from, std::size_t element_bytes, unsigned char* to) const {
    std::size_t const bytes = static_cast<std::size_t>(from.size) * element_bytes;
    if (bytes == 0) return;
    if constexpr (runs_on_host_v<Exec>) {
      on_host(from, element_bytes, [&](void* there, std::size_t at, std::size_t n) { std::memcpy(to + at, there, n); });
    } else {
      void const* const source = from.contiguous() ? from.data : room_.data();
      if (!from.contiguous()) launch(from, element_bytes, false);
      Kokkos::deep_copy(exec_, host_bytes(to, bytes), device_bytes(as_bytes(source), bytes));
      exec_.fence("accrue::restart: read elements");
    }
  }
  void write(strided const& to, std::size_t element_bytes, unsigned char* from) const {
    std::size_t const bytes = static_cast<std::size_t>(to.size) * element_bytes;
    if (bytes == 0) return;
    if constexpr (runs_on_host_v<Exec>) {
      on_host(to, element_bytes, [&](void* there, std::size_t at, std::size_t n) { std::memcpy(there, from + at, n); });
    } else {
      void const* const target = to.contiguous() ? to.data : room_.data();
      Kokkos::deep_copy(exec_, device_bytes(as_bytes(target), bytes), host_bytes(from, bytes));
      if (!to.contiguous()) launch(to, element_bytes, true);
    }
  }
  void finish() const { exec_.fence("accrue::restart: write elements"); }

 private:
  template <class Space>
  using bytes_in = Kokkos::View<unsigned char*, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using host_bytes = bytes_in<Kokkos::HostSpace>;
  using device_bytes = bytes_in<typename Exec::memory_space>;

  [[nodiscard]] static unsigned char* as_bytes(void const* data) {
    return static_cast<unsigned char*>(const_cast<void*>(data));
  }
  template <class Copy>
  static void on_host(strided const& view, std::size_t element_bytes, Copy const& copy) {
    auto const size = static_cast<std::size_t>(view.size);
    if (view.contiguous()) return copy(view.data, 0, size * element_bytes);
    for (std::size_t i = 0; i < size; ++i) {
      auto const offset = view.offset(static_cast<std::int64_t>(i)) * static_cast<std::int64_t>(element_bytes);
      copy(static_cast<unsigned char*>(view.data) + offset, i * element_bytes, element_bytes);
    }
  }
  void launch(strided const& view, std::size_t element_bytes, bool into_view) const {
    Kokkos::parallel_for("accrue::restart::elements",
                         Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec_, 0, view.size),
                         copy_elements{view, room_.data(), static_cast<std::int64_t>(element_bytes / 2), into_view});
  }

  Exec exec_;
  device_array<std::uint16_t, Exec> room_;
};

/// Turns numbers of `width` bytes into the order of a file, and back: nothing to do on a little-endian host.
inline void swap_to_little_endian([[maybe_unused]] unsigned char* bytes, [[maybe_unused]] std::size_t size,
                                  [[maybe_unused]] std::size_t width) {
  if constexpr (std::endian::native == std::endian::big)
    for (std::size_t first = 0; first < size; first += width)
      for (std::size_t b = 0; b < width / 2; ++b) std::swap(bytes[first + b], bytes[first + width - 1 - b]);
}

}  // namespace accrue
#endif

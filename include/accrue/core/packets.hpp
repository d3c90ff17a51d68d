// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_PACKETS_HPP
#define ACCRUE_CORE_PACKETS_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace accrue {

/// What a device thread loads or stores at once.
inline constexpr std::size_t packet_bytes = 16;

/// How many neighbours a device thread takes: 16 bytes of the widest of the scalars that they have in several arrays.
/// Then one access of neighbouring threads leaves no gaps, in the narrower arrays either.
template <class... Scalars>
inline constexpr int packet_size_of = static_cast<int>(packet_bytes / std::max({sizeof(Scalars)...}));

/// Neighbours in registers, with the alignment that one access needs.
template <class T, int N>
struct alignas(std::min(packet_bytes, sizeof(T) * N)) packet {
  T at[N];
};

/// Loads or stores `N` neighbours in accesses of up to 16 bytes; both places are aligned as a packet.
template <int N, class T>
KOKKOS_FORCEINLINE_FUNCTION void copy_packet(T const* from, T* to) {
  *reinterpret_cast<packet<T, N>*>(to) = *reinterpret_cast<packet<T, N> const*>(from);
}

/// Whether packets of `N` neighbours may begin at all of these places.
template <int N, class... T>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool packets_begin_at(T const*... places) {
  return (... && (reinterpret_cast<std::uintptr_t>(places) % alignof(packet<T, N>) == 0));
}

/// Calls `f(k)` for each k below `N`, unrolled: what it indexes by k stays in registers.
template <int N, class F>
KOKKOS_FORCEINLINE_FUNCTION void for_packet(F const& f) {
  [&]<int... K>(std::integer_sequence<int, K...>) { (f(K), ...); }
  (std::make_integer_sequence<int, N>{});
}

}  // namespace accrue
#endif

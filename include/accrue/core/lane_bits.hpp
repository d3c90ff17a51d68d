// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_LANE_BITS_HPP
#define ACCRUE_CORE_LANE_BITS_HPP

#include <accrue/core/half.hpp>
#include <accrue/core/lanes.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace accrue {

namespace detail {

template <class V>
struct bits_beside {
  using type = std::uint64_t;
};
#if ACCRUE_HAS_LANES
template <>
struct bits_beside<doubles> {
  typedef std::uint64_t type __attribute__((vector_size(register_bytes)));
};
#endif

/// The bits of a double, or of a register of them, and back.
template <class V>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION typename bits_beside<V>::type bits_in(V const& x) {
  if constexpr (std::is_same_v<V, double>)
    return bits_of(x);
  else
    return reinterpret_cast<typename bits_beside<V>::type>(x);
}
template <class V>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION V from_bits(typename bits_beside<V>::type const& bits) {
  if constexpr (std::is_same_v<V, double>)
    return bits_as<double>(bits);
  else
    return reinterpret_cast<V>(bits);
}

/// Whether a comparison holds anywhere.
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool any_of(bool holds) { return holds; }
#if ACCRUE_HAS_LANES
typedef std::int64_t long_mask __attribute__((vector_size(register_bytes)));
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline bool any_of(long_mask const& holds) {
#if defined(__AVX__)
  return __builtin_ia32_movmskpd256(reinterpret_cast<doubles>(holds)) != 0;
#elif defined(__SSE2__)
  return __builtin_ia32_movmskpd(reinterpret_cast<doubles>(holds)) != 0;
#else
  return (holds[0] | holds[1]) != 0;
#endif
}
#endif

}  // namespace detail

}  // namespace accrue
#endif

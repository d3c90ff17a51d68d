// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_ROUNDED_COPY_HPP
#define ACCRUE_PASSES_ROUNDED_COPY_HPP

#include <accrue/core/lane_memory.hpp>
#include <accrue/core/packets.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/core/scalar_id.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/core/type_list.hpp>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace accrue {

/// Where no copy of a parameter is written.
struct no_copy {
  template <class Value>
  KOKKOS_FUNCTION void put(std::int64_t, Value const&) const {}
};

/// A copy of scalar `C`, into which each new value of a parameter is rounded.
template <class C>
struct rounded_copy {
  strided to;
  bool contiguous;
  KOKKOS_FUNCTION explicit rounded_copy(strided const& copy) : to(copy), contiguous(copy.contiguous()) {}

  template <class P>
  KOKKOS_FUNCTION void put(std::int64_t i, P const& parameter) const {
    static_cast<C*>(to.data)[contiguous ? i : to.offset(i)] = narrow<C>(parameter);
  }
  template <class P, int N>
  KOKKOS_FORCEINLINE_FUNCTION void put(std::int64_t i, packet<P, N> const& parameters) const {
    C* const first = static_cast<C*>(to.data) + i;
    if (contiguous && packets_begin_at<N>(first)) {
      packet<C, N> rounded;
      for_packet<N>([&](int k) { rounded.at[k] = narrow<C>(parameters.at[k]); });
      copy_packet<N>(rounded.at, first);
    } else {
      for_packet<N>([&](int k) { put(i + k, parameters.at[k]); });
    }
  }
#if ACCRUE_HAS_LANES
  template <class Real>
  ACCRUE_ALWAYS_INLINE void put(std::int64_t i, lanes<Real> const& parameters) const {
    if (contiguous) {
      store_lanes(parameters, static_cast<C*>(to.data) + i);
    } else {
      for (std::int64_t lane = 0; lane < lane_count; ++lane) put(i + lane, parameters[static_cast<std::size_t>(lane)]);
    }
  }
#endif
};

/// Whether a copy takes lanes of parameters of scalar `P`: rounded once, as one by one.
template <class Copy, class P>
inline constexpr bool copies_lanes = false;
template <class P>
inline constexpr bool copies_lanes<no_copy, P> = true;
template <lane_scalar C, lane_scalar P>
inline constexpr bool copies_lanes<rounded_copy<C>, P> = std::is_same_v<accumulation_scalar_t<C>, P>;

/// Calls `visit` with the copy of a view, one of the scalars in the list, or with none.
template <class... Scalars>
KOKKOS_FUNCTION void with_copy(type_list<Scalars...>, strided const* copies, std::int32_t view, auto const& visit) {
  if constexpr (sizeof...(Scalars) == 0) {
    visit(no_copy{});
  } else {
    bool const written =
        ((copies[view].scalar == scalar_id<Scalars>() && (visit(rounded_copy<Scalars>(copies[view])), true)) || ...);
    if (!written) visit(no_copy{});
  }
}

}  // namespace accrue
#endif

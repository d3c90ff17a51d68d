// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_WRITERS_HPP
#define ACCRUE_PASSES_WRITERS_HPP

#include <accrue/core/lane_memory.hpp>
#include <accrue/core/master_weights.hpp>
#include <accrue/core/packets.hpp>
#include <accrue/core/random_rounding.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/core/scalar_id.hpp>
#include <accrue/core/stochastic_rounding.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/core/type_list.hpp>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace accrue {

/// What an update writes of a parameter besides its value rounded to the nearest: a copy, another rounding, or nothing.
struct parameter_writing {
  strided copy{};            ///< `scalar` is -1 where there is none
  std::int64_t stream = -1;  ///< the number of a view whose values are rounded at random, -1 for others
  friend bool operator==(parameter_writing const&, parameter_writing const&) = default;
};

/// Rounds new values of a parameter to the nearest.
struct to_nearest {
  to_nearest() = default;
  KOKKOS_FUNCTION to_nearest(parameter_writing const&, std::int64_t /*update*/) {}

  template <class P, class B>
  [[nodiscard]] KOKKOS_FUNCTION static P rounded(std::int64_t, B const& value) {
    return narrow<P>(value);
  }
  /// The same for copies of elements from `i` on, that are numbered from 0.
  [[nodiscard]] KOKKOS_FUNCTION static to_nearest near(std::int64_t) { return {}; }
  /// What is done with values that are stored as parameters.
  template <class Values>
  KOKKOS_FUNCTION void put(std::int64_t, Values const&) const {}
#if ACCRUE_HAS_LANES
  template <lane_scalar P>
  ACCRUE_ALWAYS_INLINE static void store(std::int64_t, lanes<accumulation_scalar_t<P>> const& values, P* to) {
    store_lanes(values, to);
  }
#endif
};

/// The same, with a copy of scalar `C` into which each new value of a parameter is rounded.
template <class C>
struct rounded_copy : to_nearest {
  strided to;
  bool contiguous;
  KOKKOS_FUNCTION rounded_copy(parameter_writing const& how, std::int64_t /*update*/)
      : to(how.copy), contiguous(how.copy.contiguous()) {}
  [[nodiscard]] KOKKOS_FUNCTION static bool writes(parameter_writing const& how) {
    return how.copy.scalar == scalar_id<C>();
  }

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

/// Rounds new values of a parameter of 16 bits up or down at random.
struct to_either {
  random_stream random;
  KOKKOS_FUNCTION to_either(parameter_writing const& how, std::int64_t update) : random(how.stream, update) {}
  [[nodiscard]] KOKKOS_FUNCTION static bool writes(parameter_writing const& how) { return how.stream >= 0; }

  template <detail::sixteen_bit P, class B>
  [[nodiscard]] KOKKOS_FUNCTION P rounded(std::int64_t i, B const& value) const {
    return narrow_at_random<P>(static_cast<float>(value), random(i));
  }
  struct nearby {
    random_stream random;
    std::int64_t first;
    template <detail::sixteen_bit P, class B>
    [[nodiscard]] KOKKOS_FUNCTION P rounded(std::int64_t k, B const& value) const {
      return narrow_at_random<P>(static_cast<float>(value), random(first + k));
    }
    template <class Values>
    KOKKOS_FUNCTION void put(std::int64_t, Values const&) const {}
  };
  [[nodiscard]] KOKKOS_FUNCTION nearby near(std::int64_t first) const { return {random, first}; }
  template <class Values>
  KOKKOS_FUNCTION void put(std::int64_t, Values const&) const {}
#if ACCRUE_HAS_LANES
  template <lane_scalar P>
  ACCRUE_ALWAYS_INLINE void store(std::int64_t i, lanes<float> const& values, P* to) const {
    if (i % 4 == 0) {
      store_lanes_at_random(values, random.four(i / 4), random.four(i / 4 + 1), to);
    } else {
      for (std::int64_t lane = 0; lane < lane_count; ++lane)
        to[lane] = rounded<P>(i + lane, values[static_cast<std::size_t>(lane)]);
    }
  }
#endif
};

/// Whether a writer takes lanes of parameters of scalar `P`: rounded once, as one by one.
template <class Writer, class P>
inline constexpr bool writes_lanes = false;
template <class P>
inline constexpr bool writes_lanes<to_nearest, P> = true;
template <lane_scalar C, lane_scalar P>
inline constexpr bool writes_lanes<rounded_copy<C>, P> = std::is_same_v<accumulation_scalar_t<C>, P>;
template <detail::sixteen_bit P>
inline constexpr bool writes_lanes<to_either, P> = detail::has_exponent_of_float<P>;

namespace detail {
template <class P, class Item>
struct writer_for {
  using type = void;
};
template <class P, class Weights, class Copy>
  requires std::is_same_v<typename view_of_t<Weights>::non_const_value_type, P>
struct writer_for<P, master_weights<Weights, Copy>> {
  using type = rounded_copy<typename view_of_t<Copy>::non_const_value_type>;
};
template <class P, class Weights>
  requires std::is_same_v<typename view_of_t<Weights>::non_const_value_type, P>
struct writer_for<P, stochastic_rounding<Weights>> {
  using type = to_either;
};
}  // namespace detail

/// The writers that parameters of scalar `P` need besides `to_nearest`.
template <class P, class... Items>
using writers_t = unique_t<typename detail::writer_for<P, Items>::type...>;

/// Calls `visit` with the writer of a view for an update of that number: one of the list, else `to_nearest`.
template <class... Writers>
KOKKOS_FUNCTION void with_writer(type_list<Writers...>, parameter_writing const* views, std::int32_t view,
                                 std::int64_t update, auto const& visit) {
  if constexpr (sizeof...(Writers) == 0) {
    visit(to_nearest{});
  } else {
    parameter_writing const& how = views[view];
    bool const written = ((Writers::writes(how) && (visit(Writers(how, update)), true)) || ...);
    if (!written) visit(to_nearest{});
  }
}

}  // namespace accrue
#endif

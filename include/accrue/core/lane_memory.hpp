// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_LANE_MEMORY_HPP
#define ACCRUE_CORE_LANE_MEMORY_HPP

#include <accrue/core/half_lanes.hpp>
#include <accrue/core/lanes.hpp>
#include <accrue/core/scalar.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace accrue {

/// What can be loaded into lanes.
template <class T>
concept lane_scalar = (ACCRUE_HAS_LANES == 1) && gradient_scalar<T> && !is_complex_v<T>;

#if ACCRUE_HAS_LANES

/// Calls `visit` with the number of each register of `lanes<Real>`, as a constant.
template <class Real, class Visit>
ACCRUE_ALWAYS_INLINE inline void for_registers(Visit const& visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) ACCRUE_ALWAYS_INLINE {
    (visit(std::integral_constant<std::size_t, I>{}), ...);
  }
  (std::make_index_sequence<lanes<Real>::registers>{});
}

namespace detail {
template <class Register>
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline Register load_register(void const* from) {
  Register loaded;
  std::memcpy(&loaded, from, sizeof loaded);
  return loaded;
}
template <class Register>
ACCRUE_ALWAYS_INLINE inline void store_register(Register const& x, void* to) {
  std::memcpy(to, &x, sizeof x);
}
/// As many floats as a register holds doubles, in its lower lanes.
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline quarter load_floats(float const* from) {
  quarter loaded{};
  std::memcpy(&loaded, from, lanes<double>::per_register * sizeof(float));
  return loaded;
}
ACCRUE_ALWAYS_INLINE inline void store_floats(quarter const& x, float* to) {
  std::memcpy(to, &x, lanes<double>::per_register * sizeof(float));
}
}  // namespace detail

/// Eight elements in the scalar that they are summed in: float for 16 bits, else their own. Guarantee: exact.
template <lane_scalar T>
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline lanes<accumulation_scalar_t<T>> load_lanes(T const* from) {
  lanes<accumulation_scalar_t<T>> loaded;
  if constexpr (detail::sixteen_bit<T>) {
    using storage = typename detail::half_storage<T>::type;
    using form = typename storage::format_type;
    detail::half_words const bits = detail::words_of(detail::load_register<detail::half8>(from));
    for_registers<float>([&](auto i)
                             ACCRUE_ALWAYS_INLINE { loaded.part[i] = detail::widened_words<form>(bits.part[i]); });
  } else {
    for_registers<T>([&](auto i) ACCRUE_ALWAYS_INLINE {
      loaded.part[i] = detail::load_register<typename lanes<T>::native>(from + i * lanes<T>::per_register);
    });
  }
  return loaded;
}

/// Stores eight elements, in one rounding where `T` has 16 bits.
template <lane_scalar T>
ACCRUE_ALWAYS_INLINE inline void store_lanes(lanes<accumulation_scalar_t<T>> const& x, T* to) {
  if constexpr (detail::sixteen_bit<T>) {
    using form = typename detail::half_storage<T>::type::format_type;
    detail::half_words bits;
    for_registers<float>([&](auto i) ACCRUE_ALWAYS_INLINE { bits.part[i] = detail::narrowed_words<form>(x.part[i]); });
    detail::store_register(detail::halves_of(bits), to);
  } else {
    for_registers<T>([&](auto i)
                         ACCRUE_ALWAYS_INLINE { detail::store_register(x.part[i], to + i * lanes<T>::per_register); });
  }
}

/// Stores eight elements, each rounded up or down by its 16 of the random bits, see `narrow_at_random`.
template <lane_scalar T>
  requires(detail::has_exponent_of_float<T>)
ACCRUE_ALWAYS_INLINE inline void store_lanes_at_random(lanes<float> const& x, std::uint64_t first_four,
                                                       std::uint64_t last_four, T* to) {
  using form = typename detail::half_storage<T>::type::format_type;
  typedef std::uint64_t two __attribute__((vector_size(16)));
  detail::half_words const random = detail::words_of(reinterpret_cast<detail::half8>(two{first_four, last_four}));
  detail::half_words bits;
  for_registers<float>([&](auto i) ACCRUE_ALWAYS_INLINE {
    bits.part[i] = detail::narrowed_words_at_random<form>(x.part[i], random.part[i]);
  });
  detail::store_register(detail::halves_of(bits), to);
}

/// Eight elements in double. Guarantee: exact.
template <lane_scalar T>
[[nodiscard]] ACCRUE_ALWAYS_INLINE inline lanes<double> load_wide(T const* from) {
  if constexpr (std::same_as<T, float>) {  // straight from memory: to take a register of floats apart costs more
    lanes<double> loaded;
    for_registers<double>([&](auto i) ACCRUE_ALWAYS_INLINE {
      loaded.part[i] = detail::in_double(detail::load_floats(from + i * lanes<double>::per_register));
    });
    return loaded;
  } else {
    return lanes_as<double>(load_lanes(from));
  }
}
/// Stores eight doubles, rounded to the nearest.
template <std::floating_point T>
ACCRUE_ALWAYS_INLINE inline void store_rounded(lanes<double> const& x, T* to) {
  if constexpr (std::same_as<T, float>) {
    for_registers<double>([&](auto i) ACCRUE_ALWAYS_INLINE {
      detail::store_floats(detail::in_quarter(x.part[i]), to + i * lanes<double>::per_register);
    });
  } else {
    store_lanes(x, to);
  }
}

namespace detail {
template <class Register, class T>
ACCRUE_ALWAYS_INLINE inline void stream_register(Register const& x, T* to) {
#if __has_builtin(__builtin_nontemporal_store)
  __builtin_nontemporal_store(x, reinterpret_cast<Register*>(to));
#elif defined(__AVX__)
  if constexpr (sizeof(T) == sizeof(float))
    __builtin_ia32_movntps256(to, x);
  else
    __builtin_ia32_movntpd256(to, x);
#elif defined(__SSE2__)
  if constexpr (sizeof(T) == sizeof(float))
    __builtin_ia32_movntps(to, x);
  else
    __builtin_ia32_movntpd(to, x);
#else
  store_register(x, to);
#endif
}
}  // namespace detail

/// Stores eight elements past the caches, for memory that is not read again soon: the line is not read to be written.
///
/// Order: `fence_streams` before another thread reads. The address must be a multiple of `register_bytes`.
template <std::floating_point T>
ACCRUE_ALWAYS_INLINE inline void stream_lanes(lanes<T> const& x, T* to) {
  for_registers<T>([&](auto i)
                       ACCRUE_ALWAYS_INLINE { detail::stream_register(x.part[i], to + i * lanes<T>::per_register); });
}
inline void fence_streams() {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

#endif

}  // namespace accrue
#endif

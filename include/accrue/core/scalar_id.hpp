// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_SCALAR_ID_HPP
#define ACCRUE_CORE_SCALAR_ID_HPP

#include <accrue/core/scalar.hpp>

#include <Kokkos_Macros.hpp>
#include <cstdint>

namespace accrue {

/// A number that tells the gradient scalars apart in tables that have lost the type; types of the same bits share it.
template <gradient_scalar T>
[[nodiscard]] KOKKOS_FUNCTION constexpr std::int32_t scalar_id() {
  constexpr auto bytes = static_cast<std::int32_t>(sizeof(T));
  if constexpr (is_complex_v<T>) {
    return 0x100 | bytes;
  } else if constexpr (detail::sixteen_bit<T>) {
    return (std::same_as<typename detail::half_storage<T>::type, float16> ? 0x200 : 0x300) | bytes;
  } else {
    return bytes;
  }
}

}  // namespace accrue
#endif

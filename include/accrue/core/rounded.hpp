// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_ROUNDED_HPP
#define ACCRUE_CORE_ROUNDED_HPP

#include <accrue/core/lanes.hpp>

#include <Kokkos_Core.hpp>
#include <type_traits>

// A barrier against reassociation and fused products, where the compiler has one.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define ACCRUE_HAS_BARRIER 0
#define ACCRUE_BARRIER(x) (x)
#elif __has_builtin(__builtin_assoc_barrier)  // g++ 12
#define ACCRUE_HAS_BARRIER 1
#define ACCRUE_BARRIER(x) __builtin_assoc_barrier(x)
#elif __has_builtin(__arithmetic_fence)  // clang
#define ACCRUE_HAS_BARRIER 1
#define ACCRUE_BARRIER(x) __arithmetic_fence(x)
#else
#define ACCRUE_HAS_BARRIER 0
#define ACCRUE_BARRIER(x) (x)
#endif
#if defined(__clang__)
#define ACCRUE_NOTHING_FUSED _Pragma("clang fp contract(off)")
#else
#define ACCRUE_NOTHING_FUSED
#endif

namespace accrue {

/// Whether sums and differences of `Real` can be had as they are written, each rounded once: everywhere but under
/// -ffast-math with a compiler that has no barrier against it.
template <class Real>
inline constexpr bool rounds_as_written_v =
#if defined(__FAST_MATH__)
    ACCRUE_HAS_BARRIER == 1;
#else
    true;
#endif

/// x itself, for a number, lanes, or a register of them: what it was computed from is not looked into again.
template <class T>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T rounded(T const& x) {
#if ACCRUE_HAS_LANES
  if constexpr (is_lanes_v<T>)
    return T::map([](typename T::native part) ACCRUE_ALWAYS_INLINE { return ACCRUE_BARRIER(part); }, x);
  else
#endif
    return ACCRUE_BARRIER(x);
}

/// a + b and a - b, rounded to the nearest as they are written: nothing is reordered or fused with a product.
template <class T>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T plus(T const& a, T const& b) {
  ACCRUE_NOTHING_FUSED
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, double>) return __dadd_rn(a, b);
#endif
  return rounded(T(a + b));
}
template <class T>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T minus(T const& a, T const& b) {
  ACCRUE_NOTHING_FUSED
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, double>) return __dsub_rn(a, b);
#endif
  return rounded(T(a - b));
}

/// a + b = sum + rest, exactly.
template <class T>
struct exact_sum {
  T sum;
  T rest;
  KOKKOS_FORCEINLINE_FUNCTION exact_sum(T const& a, T const& b) : sum(plus(a, b)) {  // Knuth, without a branch
    T const of_b = minus(sum, a);
    rest = plus(minus(a, minus(sum, of_b)), minus(b, of_b));
  }
};

}  // namespace accrue
#undef ACCRUE_BARRIER
#undef ACCRUE_HAS_BARRIER
#undef ACCRUE_NOTHING_FUSED
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_INTEROP_POINTER_HPP
#define ACCRUE_INTEROP_POINTER_HPP

#include <accrue/core/error.hpp>

#include <Kokkos_Core.hpp>
#include <atomic>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

namespace accrue {

namespace detail {

template <class T>
concept memory_space = Kokkos::is_memory_space<T>::value;

/// The element of a view over memory that holds `T`: its own type, but Kokkos's complex for the standard's.
template <class T>
struct view_element {
  using type = T;
};
template <class T>
struct view_element<T const> {
  using type = typename view_element<T>::type const;
};
template <std::floating_point Real>
  requires(sizeof(Real) <= sizeof(double))
struct view_element<std::complex<Real>> {
  using type = Kokkos::complex<Real>;
};
template <class T>
using view_element_t = typename view_element<T>::type;

/// `T` with one asterisk for each rank, the data type of a view.
template <class T, std::size_t Rank>
struct with_rank {
  using type = typename with_rank<T*, Rank - 1>::type;
};
template <class T>
struct with_rank<T, 0> {
  using type = T;
};

template <class Element, std::size_t Rank, class Layout, class MemorySpace>
using unmanaged_view =
    Kokkos::View<typename with_rank<Element, Rank>::type, Layout, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// What an invalid call gives after its one compile error, so that nothing else is said.
using no_view = unmanaged_view<double, 1, Kokkos::LayoutStride, Kokkos::HostSpace>;

/// The pointer as one to view elements; throws where it is null, or not aligned as they need it, though there are any.
template <class T>
[[nodiscard]] view_element_t<T>* checked(T* pointer, bool nothing_there, char const* from) {
  using element = view_element_t<T>;
  static_assert(sizeof(T) == sizeof(element));
  if (!nothing_there && pointer == nullptr)
    throw error(std::string(from) + ": the pointer is null", "the extents say that elements are there",
                "give the memory, or an extent of 0");
  if (!nothing_there && reinterpret_cast<std::uintptr_t>(pointer) % alignof(element) != 0)
    throw error(std::string(from) + ": the pointer is not a multiple of " + std::to_string(alignof(element)) + " bytes",
                "the elements of a view need that alignment", "take memory that is aligned for them, or copy");
  // To the compiler the two types are strangers: what was written as one must be there before it is read as the other.
  if constexpr (!std::same_as<T, element>) std::atomic_signal_fence(std::memory_order_seq_cst);
  return reinterpret_cast<element*>(pointer);
}

/// The extent as a size, by which `size` is multiplied; throws where it is negative or no memory is so large.
template <class T, std::integral Extent>
[[nodiscard]] std::size_t checked_extent(Extent extent, std::size_t& size) {
  if constexpr (std::signed_integral<Extent>) {
    if (extent < 0)
      throw error("accrue::from_pointer: an extent is negative", "no memory has that many elements", "give 0 or more");
  }
  auto const checked = static_cast<std::size_t>(extent);
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(T);
  if (checked != 0 && size > most / checked)
    throw error("accrue::from_pointer: the extents exceed the address space", "their product counts the elements",
                "check the extents");
  size *= checked;
  return checked;
}

/// A stride as Kokkos has it; throws where it runs backwards, or elements that can be written coincide.
inline std::size_t checked_stride(std::ptrdiff_t stride, bool writable, char const* from) {
  if (stride < 0)
    throw error(std::string(from) + ": a stride is negative", "a Kokkos view does not run backwards", "copy it first");
  if (stride == 0 && writable)
    throw error(std::string(from) + ": a stride is 0", "several threads would write one element",
                "copy it first, or view it as const");
  return static_cast<std::size_t>(stride);
}

}  // namespace detail

/// An unmanaged view over memory that is there already: rows one after another, the last index runs fastest.
///
/// The memory lies in `MemorySpace`, on the host if not given: `from_pointer<Kokkos::CudaSpace>(p, n)`. It must outlive
/// the view. `std::complex` is seen as `Kokkos::complex`; `T const` gives a view of constants.
/// Guarantee: nothing is copied; any alignment that suits the element will do.
/// Failure: `accrue::error` where an extent is negative, or the pointer null or unaligned though elements are there.
template <detail::memory_space MemorySpace = Kokkos::HostSpace, class T, std::integral... Extents>
  requires(std::is_object_v<T> && sizeof...(Extents) <= 8)
[[nodiscard]] auto from_pointer(T* pointer, Extents... extents) {
  using view = detail::unmanaged_view<detail::view_element_t<T>, sizeof...(Extents), Kokkos::LayoutRight, MemorySpace>;
  Kokkos::LayoutRight layout;
  std::size_t size = 1;
  [[maybe_unused]] int rank = 0;
  ((layout.dimension[rank++] = detail::checked_extent<T>(extents, size)), ...);
  return view(detail::checked(pointer, size == 0, "accrue::from_pointer"), layout);
}

}  // namespace accrue
#endif

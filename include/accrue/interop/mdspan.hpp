// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_INTEROP_MDSPAN_HPP
#define ACCRUE_INTEROP_MDSPAN_HPP

#include <accrue/interop/pointer.hpp>

#include <Kokkos_Core.hpp>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <version>
#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

namespace accrue {

/// Whether an accessor means the plain element `data_handle()[offset]`. True of the default accessor of the standard
/// library and of Kokkos; specialize it for that of a third mdspan.
template <class Accessor>
inline constexpr bool is_plain_accessor_v = false;
#ifdef __cpp_lib_mdspan
template <class T>
inline constexpr bool is_plain_accessor_v<std::default_accessor<T>> = true;
#endif
#ifdef MDSPAN_IMPL_STANDARD_NAMESPACE  // the reference implementation, which Kokkos brings along
template <class T>
inline constexpr bool is_plain_accessor_v<MDSPAN_IMPL_STANDARD_NAMESPACE::default_accessor<T>> = true;
#endif

namespace detail {

template <class Span>
concept mdspan_like = requires(Span const& span) {
  typename Span::element_type;
  typename Span::accessor_type;
  { Span::rank() } -> std::convertible_to<std::size_t>;
  { Span::is_always_strided() } -> std::convertible_to<bool>;
  span.extent(0);
  span.data_handle();
};
template <class Span>
concept plainly_accessed = is_plain_accessor_v<typename Span::accessor_type>;
template <class Span>
concept always_strided = Span::is_always_strided();
template <class Span>
concept viewable_rank = (Span::rank() <= 8);

}  // namespace detail

/// An unmanaged view of the elements of an mdspan, `std::mdspan` and `Kokkos::mdspan` alike: same rank, same indices.
///
/// The memory lies in `MemorySpace`, on the host if not given, and must outlive the view. `std::complex` is seen as
/// `Kokkos::complex`; const elements give a view of constants; static extents become values.
/// Guarantee: nothing is copied.
/// Failure: compile error for another accessor than the default one and for layouts that are not always strided;
/// `accrue::error` where the pointer is null or unaligned, or a stride no use, though elements are there.
template <detail::memory_space MemorySpace = Kokkos::HostSpace, class Span>
[[nodiscard]] auto from_mdspan(Span const& span) {
  if constexpr (!detail::mdspan_like<Span>) {
    static_assert(detail::mdspan_like<Span>,
                  "accrue::from_mdspan: the argument is no mdspan; give one, or use accrue::from_pointer");
    return detail::no_view();
  } else if constexpr (!detail::plainly_accessed<Span>) {
    static_assert(detail::plainly_accessed<Span>,
                  "accrue::from_mdspan: this accessor is not the default one, and a view would go around it; make an "
                  "mdspan with the default accessor");
    return detail::no_view();
  } else if constexpr (!detail::always_strided<Span>) {
    static_assert(detail::always_strided<Span>,
                  "accrue::from_mdspan: this layout has no strides; copy into an mdspan with layout_right, layout_left "
                  "or layout_stride first");
    return detail::no_view();
  } else if constexpr (!detail::viewable_rank<Span>) {
    static_assert(detail::viewable_rank<Span>,
                  "accrue::from_mdspan: a Kokkos view has 8 indices at most; give an mdspan of lower rank");
    return detail::no_view();
  } else {
    using element = typename Span::element_type;
    bool nothing_there = false;
    Kokkos::LayoutStride layout;
    if constexpr (Span::rank() != 0) {
      for (std::size_t r = 0; r != Span::rank(); ++r) nothing_there |= span.extent(r) == 0;
      for (std::size_t r = 0; r != Span::rank(); ++r) {
        layout.dimension[r] = static_cast<std::size_t>(span.extent(r));
        // The stride of an index that takes one value is never used.
        layout.stride[r] = nothing_there || span.extent(r) == 1
                               ? 1
                               : detail::checked_stride(static_cast<std::ptrdiff_t>(span.stride(r)),
                                                        !std::is_const_v<element>, "accrue::from_mdspan");
      }
    }
    using view =
        detail::unmanaged_view<detail::view_element_t<element>, Span::rank(), Kokkos::LayoutStride, MemorySpace>;
    return view(detail::checked(span.data_handle(), nothing_there, "accrue::from_mdspan"), layout);
  }
}

}  // namespace accrue
#endif

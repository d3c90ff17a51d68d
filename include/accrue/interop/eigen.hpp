// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_INTEROP_EIGEN_HPP
#define ACCRUE_INTEROP_EIGEN_HPP

#include <accrue/core/half.hpp>
#include <accrue/interop/pointer.hpp>

#include <Eigen/Core>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace accrue {

namespace detail {

template <>
struct view_element<Eigen::half> {
  using type = float16;
};
template <>
struct view_element<Eigen::bfloat16> {
  using type = bfloat16;
};

template <class Derived>
void is_dense(Eigen::DenseBase<Derived> const&);
template <class Derived>
void is_matrix_or_array(Eigen::PlainObjectBase<Derived> const&);

template <class X>
concept dense_eigen = requires(X const& x) {
  detail::is_dense(x);
};

/// Eigen's flag for memory with strides, and elements that have addresses. `X` may be const.
template <class X>
concept with_memory = (int(X::Flags) & int(Eigen::DirectAccessBit)) != 0 && requires(X& x) {
  x.data();
  &x.coeffRef(0, 0);
};

/// A matrix or array holds its elements, and a Ref to const may hold a copy of what it was made from.
template <class X>
inline constexpr bool holds_elements = requires(X const& x) {
  detail::is_matrix_or_array(x);
};
template <class X, int Options, class Stride>
inline constexpr bool holds_elements<Eigen::Ref<X const, Options, Stride>> = true;

/// `Argument` is the deduced type of a forwarding reference.
template <class Argument>
concept outlives_the_call = std::is_lvalue_reference_v<Argument> || !holds_elements<std::remove_cvref_t<Argument>>;

}  // namespace detail

/// An unmanaged view of what an Eigen object refers to: rank 1 for what is a vector at compile time, else rank 2.
///
/// Takes matrices, vectors, arrays, maps, their blocks, rows, columns, segments, diagonals and transposes, whatever the
/// storage order: `view(i, j)` is the element `x(i, j)` itself. `std::complex` is seen as `Kokkos::complex`,
/// `Eigen::half` as `float16`, `Eigen::bfloat16` as `bfloat16`; a const object or a map of const gives constants.
/// Guarantee: nothing is copied. The matrix must outlive the view, and keep its size.
/// Failure: compile error for a lazy expression such as `a + b`, and for a temporary matrix; `accrue::error` where a
/// map has a null or unaligned pointer, or strides that are no use.
template <class Expression>
[[nodiscard]] auto from_eigen(Expression&& x) {
  using object = std::remove_cvref_t<Expression>;
  if constexpr (!detail::dense_eigen<object>) {
    static_assert(detail::dense_eigen<object>,
                  "accrue::from_eigen: this is no dense Eigen object; give a matrix, vector, array, map or block");
    return detail::no_view();
  } else if constexpr (!detail::outlives_the_call<Expression>) {
    static_assert(detail::outlives_the_call<Expression>,
                  "accrue::from_eigen: this matrix is a temporary, gone before its view is used; give it a name first");
    return detail::no_view();
  } else if constexpr (!detail::with_memory<std::remove_reference_t<Expression>>) {
    static_assert(
        detail::with_memory<std::remove_reference_t<Expression>>,
        "accrue::from_eigen: this is an expression without memory of its own; evaluate it into a matrix first");
    return detail::no_view();
  } else {
    using scalar = std::remove_pointer_t<decltype(x.data())>;
    using element = detail::view_element_t<scalar>;
    constexpr bool vector = object::IsVectorAtCompileTime;
    bool const nothing_there = x.size() == 0;
    scalar* const first = nothing_there ? nullptr : x.data();
    element* const data = detail::checked(first, nothing_there, "accrue::from_eigen");

    // Measured, because innerStride() is not right everywhere: a diagonal of a strided map has another one in
    // Eigen 3.4.
    auto const stride = [&](Eigen::Index size, Eigen::Index row, Eigen::Index column) -> std::size_t {
      if (nothing_there || size == 1) return 1;
      return detail::checked_stride(std::addressof(x.coeffRef(row, column)) - first, !std::is_const_v<scalar>,
                                    "accrue::from_eigen");
    };
    Kokkos::LayoutStride layout;
    if constexpr (vector) {
      bool const is_column = x.cols() == 1;
      layout.dimension[0] = static_cast<std::size_t>(x.size());
      layout.stride[0] = stride(x.size(), is_column ? 1 : 0, is_column ? 0 : 1);
    } else {
      layout.dimension[0] = static_cast<std::size_t>(x.rows());
      layout.dimension[1] = static_cast<std::size_t>(x.cols());
      layout.stride[0] = stride(x.rows(), 1, 0);
      layout.stride[1] = stride(x.cols(), 0, 1);
    }
    using view = detail::unmanaged_view<element, vector ? 1 : 2, Kokkos::LayoutStride, Kokkos::HostSpace>;
    return view(data, layout);
  }
}

}  // namespace accrue
#endif

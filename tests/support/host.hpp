// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_SUPPORT_HOST_HPP
#define ACCRUE_TESTS_SUPPORT_HOST_HPP

#include <accrue/core/scalar.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <type_traits>
#include <vector>

/// Carries values between the host and views of any rank, layout and memory space.
namespace support {

/// The elements of a view on the host, in the type that 16 bits are widened to.
template <class View>
using value_list = std::vector<accrue::accumulation_scalar_t<typename View::non_const_value_type>>;

namespace detail {
/// A dense view of the same extents in the same memory, last index fastest.
template <class View>
auto dense_like(View const& view) {
  Kokkos::LayoutRight layout;
  for (std::size_t r = 0; r < View::rank(); ++r) layout.dimension[r] = view.extent(r);
  return Kokkos::View<typename View::non_const_data_type, Kokkos::LayoutRight, typename View::memory_space>(
      "support::dense", layout);
}
}  // namespace detail

/// Writes values in the order of the indices, last one fastest, whatever the layout.
template <class View>
void fill(View const& view, value_list<View> const& values) {
  auto const dense = detail::dense_like(view);
  auto const host = Kokkos::create_mirror_view(dense);
  if (values.size() != host.size()) throw std::invalid_argument("support::fill: one value for each element");
  for (std::size_t i = 0; i < values.size(); ++i)
    host.data()[i] = accrue::narrow<typename View::non_const_value_type>(values[i]);
  Kokkos::deep_copy(dense, host);
  Kokkos::deep_copy(view, dense);
}

/// Reads a view in the order of the indices, last one fastest, whatever the layout.
template <class View>
value_list<View> values(View const& view) {
  auto const dense = detail::dense_like(view);
  Kokkos::deep_copy(dense, view);
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, dense);
  value_list<View> list;
  for (std::size_t i = 0; i < host.size(); ++i) list.push_back(accrue::widen(host.data()[i]));
  return list;
}

/// A vector with these values in the default memory.
template <class T>
Kokkos::View<T*> make_view(value_list<Kokkos::View<T*>> const& values) {
  Kokkos::View<T*> const view("view", values.size());
  fill(view, values);
  return view;
}

/// What was subtracted from parameters that were 0, and are 0 again afterwards: with learning rate 1, the gradient.
template <class View>
value_list<View> taken(View const& theta) {
  using scalar = typename View::non_const_value_type;
  value_list<View> list = values(theta);
  for (auto& value : list) value = -value;
  Kokkos::deep_copy(theta, accrue::narrow<scalar>(accrue::accumulation_scalar_t<scalar>{}));
  return list;
}

template <class T>
constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T infinite = std::numeric_limits<T>::infinity();

/// A number to the tolerance of the cases: 1e-6 of it in float, 1e-12 in double. Not for an expected 0.
template <class T>
doctest::Approx about(double expected) {
  return doctest::Approx(expected).epsilon(std::is_same_v<T, double> ? 1e-12 : 1e-6).scale(0.0);
}

}  // namespace support

namespace doctest {
/// A failed comparison of lists prints them.
template <class T>
struct StringMaker<std::vector<T>> {
  static String convert(std::vector<T> const& list) {
    std::ostringstream out;
    out.precision(17);
    char const* separator = "[";
    for (auto const& value : list) out << separator << value, separator = ", ";
    out << (list.empty() ? "[]" : "]");
    return out.str().c_str();
  }
};
}  // namespace doctest

#endif

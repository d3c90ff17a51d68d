// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_HOST_COPY_HPP
#define ACCRUE_DOCTOR_HOST_COPY_HPP

#include <accrue/core/element_copy.hpp>
#include <accrue/core/scalar_id.hpp>
#include <accrue/core/strided.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace accrue::doctor {

/// What a tensor is called, how large it is, and how its numbers are rounded.
struct tensor {
  std::string label;
  std::int64_t size = -1;    ///< numbers, two for a complex element; -1 where there is no gradient
  std::int64_t longest = 0;  ///< its longest extent: what sums in a backward pass are as long as
  double stored = 0.0;       ///< unit roundoff of an element
  double computed = 0.0;     ///< unit roundoff of the arithmetic: that of float where elements have 16 bits
};

namespace detail {

using copying = void (*)(strided const&, std::size_t, unsigned char*);

template <class Exec>
void read_elements(strided const& from, std::size_t element_bytes, unsigned char* to) {
  Exec const exec;
  element_copy<Exec>(exec, static_cast<std::size_t>(from.size) * element_bytes).read(from, element_bytes, to);
}
template <class Exec>
void write_elements(strided const& to, std::size_t element_bytes, unsigned char* from) {
  Exec const exec;
  element_copy<Exec> const copy(exec, static_cast<std::size_t>(to.size) * element_bytes);
  copy.write(to, element_bytes, from);
  copy.finish();
}

}  // namespace detail

/// Where a view's elements lie, free of its type, and how to carry them to the host and back, in the order of its
/// indices whatever its layout.
struct place {
  doctor::tensor tensor;
  strided where;
  std::size_t element_bytes = 0;
  detail::copying read = nullptr;
  detail::copying write = nullptr;

  /// The bytes of the elements. Cost: fences, allocates.
  [[nodiscard]] std::vector<unsigned char> bytes() const {
    std::vector<unsigned char> copy(static_cast<std::size_t>(where.size) * element_bytes);
    if (!copy.empty()) read(where, element_bytes, copy.data());
    return copy;
  }
};

/// The place of a view, also of one whose elements are constant.
template <class View>
[[nodiscard]] place place_of(View const& view) {
  using scalar = typename View::non_const_value_type;
  using exec = typename View::execution_space;
  using real = real_t<scalar>;
  index_order order{};
  for (int r = 0; r < max_rank; ++r) order[static_cast<std::size_t>(r)] = r;
  view_shape const shape = shape_of(view);
  place found;
  found.where = fold(shape, order, const_cast<scalar*>(view.data()), scalar_id<scalar>());
  found.element_bytes = sizeof(scalar);
  found.read = &detail::read_elements<exec>;
  found.write = &detail::write_elements<exec>;
  found.tensor.label = view.label();
  found.tensor.size = shape.size() * (is_complex_v<scalar> ? 2 : 1);
  found.tensor.longest = *std::max_element(shape.extent.begin(), shape.extent.end());
  found.tensor.computed = sizeof(real) == sizeof(double) ? 0x1p-53 : 0x1p-24;
  found.tensor.stored = found.tensor.computed;
  if constexpr (sizeof(real) == 2) found.tensor.stored = scalar_id<scalar>() == scalar_id<float16>() ? 0x1p-11 : 0x1p-8;
  return found;
}

namespace detail {

/// `count` numbers of a type, as doubles.
template <class T>
void append_as(std::vector<unsigned char> const& bytes, std::vector<double>& to) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T number{};
    std::memcpy(&number, bytes.data() + at, sizeof(T));
    to.push_back(static_cast<double>(number));
  }
}

}  // namespace detail

/// Appends the numbers of a view as doubles, which is exact. Cost: fences, allocates.
inline void append_numbers(place const& from, std::vector<double>& to) {
  std::vector<unsigned char> const bytes = from.bytes();
  std::int32_t const scalar = from.where.scalar;
  if (scalar == scalar_id<float16>())
    detail::append_as<float16>(bytes, to);
  else if (scalar == scalar_id<bfloat16>())
    detail::append_as<bfloat16>(bytes, to);
  else if (scalar == scalar_id<float>() || scalar == scalar_id<Kokkos::complex<float>>())
    detail::append_as<float>(bytes, to);
  else
    detail::append_as<double>(bytes, to);
}

namespace detail {

/// Numbers from `at` on, rounded to the nearest of a type, as bytes.
template <class T>
[[nodiscard]] std::vector<unsigned char> bytes_as(std::vector<double>::const_iterator at, std::int64_t size) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(size) * sizeof(T));
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) {
    auto const number = static_cast<T>(*at++);
    std::memcpy(bytes.data() + i, &number, sizeof(T));
  }
  return bytes;
}

}  // namespace detail

/// The bytes that a view has to hold to have these numbers.
[[nodiscard]] inline std::vector<unsigned char> rounded_bytes(place const& to, std::vector<double>::const_iterator at) {
  std::int32_t const scalar = to.where.scalar;
  if (scalar == scalar_id<float16>()) return detail::bytes_as<float16>(at, to.tensor.size);
  if (scalar == scalar_id<bfloat16>()) return detail::bytes_as<bfloat16>(at, to.tensor.size);
  if (to.tensor.computed > 0x1p-53) return detail::bytes_as<float>(at, to.tensor.size);
  return detail::bytes_as<double>(at, to.tensor.size);
}

}  // namespace accrue::doctor
#endif

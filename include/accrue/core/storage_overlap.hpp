// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_STORAGE_OVERLAP_HPP
#define ACCRUE_CORE_STORAGE_OVERLAP_HPP

#include <accrue/core/strided.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace accrue {

/// Addresses that a view's elements occupy; for comparison only, never followed.
struct storage_span {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;  ///< one past the last element
};

[[nodiscard]] inline storage_span span_of(strided const& view, std::size_t element_bytes) {
  if (view.size == 0) return {};
  std::int64_t last = 0;
  for (int r = 0; r < view.rank; ++r) last += (view.axes[r].extent - 1) * view.axes[r].stride;
  auto const begin = reinterpret_cast<std::uintptr_t>(view.data);
  return {begin, begin + (static_cast<std::uintptr_t>(last) + 1) * element_bytes};
}

/// Whether two views have an element in common, or one view has two indices for one element.
///
/// Cost: nothing but comparisons where the spans are apart; else one sorted list of addresses per strided view.
[[nodiscard]] inline bool share_elements(strided const& a, std::size_t bytes_a, strided const& b, std::size_t bytes_b) {
  storage_span const span_a = span_of(a, bytes_a);
  storage_span const span_b = span_of(b, bytes_b);
  if (span_a.begin >= span_b.end || span_b.begin >= span_a.end) return false;
  if (a.contiguous() && b.contiguous()) return true;
  auto const starts = [](strided const& view, std::size_t bytes) {
    std::vector<std::uintptr_t> list;
    list.reserve(static_cast<std::size_t>(view.size));
    auto const base = reinterpret_cast<std::uintptr_t>(view.data);
    for (std::int64_t i = 0; i < view.size; ++i)
      list.push_back(base + static_cast<std::uintptr_t>(view.offset(i)) * bytes);
    std::sort(list.begin(), list.end());
    return list;
  };
  std::vector<std::uintptr_t> const of_a = starts(a, bytes_a);
  std::vector<std::uintptr_t> const of_b = starts(b, bytes_b);
  std::size_t j = 0;
  for (std::uintptr_t const element : of_a) {
    while (j < of_b.size() && of_b[j] + bytes_b <= element) ++j;
    if (j < of_b.size() && of_b[j] < element + bytes_a) return true;
  }
  return false;
}

/// Whether a view has two indices for one element, as with a stride of 0: its gradient has no single place to go.
[[nodiscard]] inline bool repeats_elements(strided const& view) {
  std::int64_t reach = 0;  // of all axes that move in smaller strides
  std::vector<strided::axis> axes(view.axes, view.axes + view.rank);
  std::sort(axes.begin(), axes.end(), [](auto const& x, auto const& y) { return x.stride < y.stride; });
  for (strided::axis const& axis : axes) {
    if (view.size == 0) return false;
    if (axis.stride <= reach) return true;
    reach += (axis.extent - 1) * axis.stride;
  }
  return false;
}

}  // namespace accrue
#endif

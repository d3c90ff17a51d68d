// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_STORAGE_OVERLAP_HPP
#define ACCRUE_CORE_STORAGE_OVERLAP_HPP

#include <accrue/core/strided.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace accrue {

namespace detail {

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

[[nodiscard]] inline std::vector<std::uintptr_t> sorted_addresses(strided const& view, std::size_t element_bytes) {
  std::vector<std::uintptr_t> list(static_cast<std::size_t>(view.size), reinterpret_cast<std::uintptr_t>(view.data));
  for (std::size_t i = 0; i < list.size(); ++i)
    list[i] += static_cast<std::uintptr_t>(view.offset(static_cast<std::int64_t>(i))) * element_bytes;
  std::sort(list.begin(), list.end());
  return list;
}

}  // namespace detail

/// Whether two views have an element in common.
///
/// Cost: nothing but comparisons where the spans are apart; else one sorted list of addresses per view.
[[nodiscard]] inline bool share_elements(strided const& a, std::size_t bytes_a, strided const& b, std::size_t bytes_b) {
  detail::storage_span const span_a = detail::span_of(a, bytes_a);
  detail::storage_span const span_b = detail::span_of(b, bytes_b);
  if (span_a.begin >= span_b.end || span_b.begin >= span_a.end) return false;
  if (a.contiguous() && b.contiguous()) return true;
  std::vector<std::uintptr_t> const of_a = detail::sorted_addresses(a, bytes_a);
  std::vector<std::uintptr_t> const of_b = detail::sorted_addresses(b, bytes_b);
  std::size_t j = 0;
  for (std::uintptr_t const element : of_a) {
    while (j < of_b.size() && of_b[j] + bytes_b <= element) ++j;
    if (j < of_b.size() && of_b[j] < element + bytes_a) return true;
  }
  return false;
}

/// Whether a view has two indices for one element, as with a stride of 0: its gradient has no single place to go.
///
/// Cost: a sorted list of addresses, and only for strides so odd that comparing them does not settle it.
[[nodiscard]] inline bool repeats_elements(strided const& view) {
  if (view.size == 0) return false;
  bool apart = true;  // every axis moves further than all faster axes together can reach
  for (int r = 0; r < view.rank; ++r) {
    std::int64_t reach = 0;
    for (int f = 0; f < view.rank; ++f) {
      strided::axis const& faster = view.axes[f];
      bool const is_faster = faster.stride < view.axes[r].stride || (faster.stride == view.axes[r].stride && f > r);
      reach += is_faster ? (faster.extent - 1) * faster.stride : 0;
    }
    apart = apart && view.axes[r].stride > reach;
  }
  if (apart) return false;
  std::vector<std::uintptr_t> const list = detail::sorted_addresses(view, 1);
  return std::adjacent_find(list.begin(), list.end()) != list.end();
}

}  // namespace accrue
#endif

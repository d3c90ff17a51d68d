// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_STRIDED_HPP
#define ACCRUE_CORE_STRIDED_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cstdint>

namespace accrue {

inline constexpr int max_rank = 8;

/// Extents and strides of a view, in the order of its indices; strides in elements.
struct view_shape {
  int rank = 0;
  std::array<std::int64_t, max_rank> extent{};
  std::array<std::int64_t, max_rank> stride{};

  [[nodiscard]] std::int64_t size() const {
    std::int64_t product = 1;
    for (int r = 0; r < rank; ++r) product *= extent[static_cast<std::size_t>(r)];
    return product;
  }
  [[nodiscard]] bool same_extents(view_shape const& other) const {
    return rank == other.rank && std::equal(extent.begin(), extent.begin() + rank, other.extent.begin());
  }
};

template <class View>
[[nodiscard]] view_shape shape_of(View const& view) {
  view_shape shape;
  shape.rank = static_cast<int>(View::rank());
  for (int r = 0; r < shape.rank; ++r) {
    auto const axis = static_cast<std::size_t>(r);
    shape.extent[axis] = static_cast<std::int64_t>(view.extent(axis));
    shape.stride[axis] = static_cast<std::int64_t>(view.stride(axis));
  }
  return shape;
}

/// A permutation of a view's indices, slowest first.
using index_order = std::array<int, max_rank>;

/// The order in which a view's elements lie in memory. The buffer keeps this order, so that the usual gradient,
/// laid out as its parameter, is one contiguous run.
[[nodiscard]] inline index_order order_in_memory(view_shape const& shape) {
  index_order order{};
  for (int r = 0; r < shape.rank; ++r) {  // insertion keeps equal strides in the order of the indices
    int at = r;
    for (; at > 0 && shape.stride[std::size_t(order[std::size_t(at - 1)])] < shape.stride[std::size_t(r)]; --at)
      order[std::size_t(at)] = order[std::size_t(at - 1)];
    order[std::size_t(at)] = r;
  }
  return order;
}

/// Where the elements of a view lie, free of its type: element i, counted in the order of the parameter's memory.
///
/// Neighbouring axes are folded into one where they are evenly spaced, so a contiguous view has one axis of stride 1.
struct strided {
  struct axis {
    std::int64_t extent = 0;
    std::int64_t stride = 0;
    friend bool operator==(axis const&, axis const&) = default;
  };

  void* data = nullptr;  ///< the kernel that reads a gradient casts to a pointer to const
  std::int64_t size = 0;
  std::int32_t scalar = -1;  ///< `scalar_id` of the elements; -1: nothing here
  std::int32_t rank = 0;
  axis axes[max_rank]{};

  friend bool operator==(strided const&, strided const&) = default;

  [[nodiscard]] KOKKOS_FUNCTION bool contiguous() const { return rank == 0 || (rank == 1 && axes[0].stride == 1); }

  [[nodiscard]] KOKKOS_FUNCTION std::int64_t offset(std::int64_t i) const {
    std::int64_t sum = 0;
    for (int r = rank - 1; r > 0; --r) {
      sum += (i % axes[r].extent) * axes[r].stride;
      i /= axes[r].extent;
    }
    return rank > 0 ? sum + i * axes[0].stride : 0;
  }
};

/// Folds a view's axes, taken in the given order.
[[nodiscard]] inline strided fold(view_shape const& shape, index_order const& order, void* data, std::int32_t scalar) {
  strided folded;
  folded.data = data;
  folded.size = shape.size();
  folded.scalar = scalar;
  for (int r = 0; r < shape.rank; ++r) {
    auto const at = static_cast<std::size_t>(order[static_cast<std::size_t>(r)]);
    strided::axis const next{shape.extent[at], shape.stride[at]};
    if (next.extent == 1) continue;
    strided::axis* const last = folded.rank > 0 ? &folded.axes[folded.rank - 1] : nullptr;
    if (last != nullptr && last->stride == next.extent * next.stride) {
      *last = {last->extent * next.extent, next.stride};
    } else {
      folded.axes[folded.rank++] = next;
    }
  }
  return folded;
}

/// A contiguous run of elements.
[[nodiscard]] inline strided run_of(void* data, std::int64_t size, std::int32_t scalar) {
  strided run;
  run.data = data;
  run.size = size;
  run.scalar = scalar;
  run.rank = 1;
  run.axes[0] = {size, 1};
  return run;
}

/// The shape of a dense block that holds a view's elements in the given order.
[[nodiscard]] inline view_shape packed(view_shape shape, index_order const& order) {
  std::int64_t stride = 1;
  for (int r = shape.rank - 1; r >= 0; --r) {
    auto const at = static_cast<std::size_t>(order[static_cast<std::size_t>(r)]);
    shape.stride[at] = stride;
    stride *= std::max<std::int64_t>(shape.extent[at], 1);
  }
  return shape;
}

/// The shape of a row, that is of all indices but the first, and the order of its indices.
[[nodiscard]] inline view_shape row_of(view_shape const& shape) {
  view_shape row;
  row.rank = shape.rank - 1;
  for (std::size_t r = 0; r + 1 < static_cast<std::size_t>(shape.rank); ++r) {
    row.extent[r] = shape.extent[r + 1];
    row.stride[r] = shape.stride[r + 1];
  }
  return row;
}
[[nodiscard]] inline index_order row_order(index_order const& order, int rank) {
  index_order row{};
  std::size_t at = 0;
  for (int r = 0; r < rank; ++r)
    if (int const index = order[static_cast<std::size_t>(r)]; index > 0) row[at++] = index - 1;
  return row;
}

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_VIEW_ITEM_HPP
#define ACCRUE_CORE_VIEW_ITEM_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <vector>

namespace accrue {

template <class T>
inline constexpr bool is_views_v = false;
template <class View, class Allocator>
inline constexpr bool is_views_v<std::vector<View, Allocator>> = Kokkos::is_view_v<View>;

/// A Kokkos view, or a `std::vector` of views of one type: what stands for one or many tensors of a model.
template <class Item>
concept view_item = Kokkos::is_view_v<Item> || is_views_v<Item>;

template <class Item>
struct view_of {
  using type = Item;
};
template <class View, class Allocator>
struct view_of<std::vector<View, Allocator>> {
  using type = View;
};
template <class Item>
using view_of_t = typename view_of<Item>::type;

/// Calls `visit(view)` for each view of an item.
template <view_item Item, class Visit>
void for_each_view(Item const& item, Visit&& visit) {
  if constexpr (Kokkos::is_view_v<Item>) {
    visit(item);
  } else {
    for (auto const& view : item) visit(view);
  }
}

/// How many views an item has.
template <view_item Item>
[[nodiscard]] std::size_t view_count(Item const& item) {
  if constexpr (Kokkos::is_view_v<Item>)
    return 1;
  else
    return item.size();
}

}  // namespace accrue
#endif

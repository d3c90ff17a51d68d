// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_PARAMETER_ITEM_HPP
#define ACCRUE_CORE_PARAMETER_ITEM_HPP

#include <accrue/core/held_in_common.hpp>
#include <accrue/core/master_weights.hpp>
#include <accrue/core/stochastic_rounding.hpp>
#include <accrue/core/view_item.hpp>

#include <type_traits>
#include <utility>

namespace accrue {

/// What may stand among parameters.
template <class Item>
concept parameter_item =
    view_item<Item> || is_master_weights_v<Item> || is_stochastic_rounding_v<Item> || is_held_in_common_v<Item>;

/// The views of an item that an update changes.
template <parameter_item Item>
[[nodiscard]] auto const& weights_of(Item const& item) {
  if constexpr (view_item<Item>)
    return item;
  else
    return item.weights;
}
template <class Item>
using weights_of_t = std::remove_cvref_t<decltype(weights_of(std::declval<Item const&>()))>;

}  // namespace accrue
#endif

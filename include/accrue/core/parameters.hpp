// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_PARAMETERS_HPP
#define ACCRUE_CORE_PARAMETERS_HPP

#include <accrue/core/diagnostics.hpp>
#include <accrue/core/parameter_item.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/core/view_item.hpp>

#include <Kokkos_Core.hpp>
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

namespace accrue {

/// The tensors of a model in one or several groups; made by `parameters` and `parameter_groups`.
template <class Sizes, class... Items>
struct parameter_set;

template <std::size_t... Sizes, class... Items>
struct parameter_set<std::index_sequence<Sizes...>, Items...> {
  using items_type = std::tuple<Items...>;
  static constexpr std::size_t group_count = sizeof...(Sizes);

  std::tuple<Items...> items;

  /// The number of the first item of a parameter group.
  [[nodiscard]] static constexpr std::size_t first_item(std::size_t group) {
    std::array<std::size_t, group_count> const sizes{Sizes...};
    std::size_t first = 0;
    for (std::size_t g = 0; g < group; ++g) first += sizes[g];
    return first;
  }
  /// The parameter group of an item.
  [[nodiscard]] static constexpr std::size_t group_of(std::size_t item) {
    std::array<std::size_t, group_count> const sizes{Sizes...};
    std::size_t group = 0;
    for (std::size_t last = sizes[0]; item >= last; last += sizes[group]) ++group;
    return group;
  }
};

/// Whether a set has an item of which an update writes more than its values rounded to the nearest.
template <class Set>
inline constexpr bool has_wrapped_items_v = false;
template <class Sizes, class... Items>
inline constexpr bool has_wrapped_items_v<parameter_set<Sizes, Items...>> =
    ((is_master_weights_v<Items> || is_stochastic_rounding_v<Items>) || ...);

template <class T>
inline constexpr bool is_parameter_set_v = false;
template <class Sizes, class... Items>
inline constexpr bool is_parameter_set_v<parameter_set<Sizes, Items...>> = true;

/// Names the views that an update changes, in the order in which gradients are handed over.
///
/// Any rank, layout, scalar and memory space mix; a `std::vector` of views stands for as many tensors as it holds, and
/// `master_weights` for one or many with a rounded copy, `stochastic_rounding` for some of 16 bits.
/// Guarantee: keeps its own references to managed views.
/// Failure: compile error for anything but views of writable elements. Example: examples/hello/hello.cpp
template <class... Items>
[[nodiscard]] auto parameters(Items const&... items) {
  constexpr bool views = (parameter_item<Items> && ...);
  constexpr bool copies = (copy_fits_v<Items> && ...);
  static_assert(views, ACCRUE_SAY_NOT_A_PARAMETER);
  static_assert(copies, ACCRUE_SAY_MASTER_WEIGHTS);
  constexpr bool random = (random_rounding_fits_v<Items> && ...);
  static_assert(random, ACCRUE_SAY_STOCHASTIC_ROUNDING);
  if constexpr (views && copies && random) {
    constexpr bool writable = (!std::is_const_v<typename view_of_t<Items>::value_type> && ...);
    constexpr bool known = (gradient_scalar<typename view_of_t<Items>::non_const_value_type> && ...);
    static_assert(writable, ACCRUE_SAY_CONST_PARAMETER);
    static_assert(known || !writable, ACCRUE_SAY_PARAMETER_SCALAR);
    if constexpr (writable && known) {
      return parameter_set<std::index_sequence<sizeof...(Items)>, Items...>{{items...}};
    } else {
      return parameter_set<std::index_sequence<0>>{};
    }
  } else {
    return parameter_set<std::index_sequence<0>>{};
  }
}

/// Joins sets of parameters that have rules of their own, but one norm and one decision.
///
/// Example: `parameter_groups(parameters(w1, w2), parameters(b1, b2))` beside `per_group{adamw{}, sgd{}}`
template <std::size_t... Sizes, class... Items>
[[nodiscard]] auto parameter_groups(parameter_set<std::index_sequence<Sizes...>, Items...> set) {
  return set;
}
template <std::size_t... A, class... ItemsA, std::size_t... B, class... ItemsB, class... Rest>
[[nodiscard]] auto parameter_groups(parameter_set<std::index_sequence<A...>, ItemsA...> a,
                                    parameter_set<std::index_sequence<B...>, ItemsB...> b, Rest... rest) {
  return parameter_groups(parameter_set<std::index_sequence<A..., B...>, ItemsA..., ItemsB...>{std::tuple_cat(
                              std::move(a.items), std::move(b.items))},
                          std::move(rest)...);
}

}  // namespace accrue
#endif

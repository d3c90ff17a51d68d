// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_CONTRIBUTION_HPP
#define ACCRUE_CORE_CONTRIBUTION_HPP

#include <accrue/core/parameters.hpp>
#include <accrue/core/rows.hpp>
#include <accrue/core/write_through.hpp>

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace accrue {

/// Stands in a contribution for a parameter that the microbatch did not touch. Untouched is not zero: an update rule
/// passes such a parameter over, optimizer state included.
struct no_gradient_t {
  friend constexpr bool operator==(no_gradient_t, no_gradient_t) = default;
};
inline constexpr no_gradient_t no_gradient{};

template <class T>
inline constexpr bool is_optional_views_v = false;
template <class View>
inline constexpr bool is_optional_views_v<std::optional<View>> = Kokkos::is_view_v<View>;
template <class View, class Allocator>
inline constexpr bool is_optional_views_v<std::vector<std::optional<View>, Allocator>> = Kokkos::is_view_v<View>;

/// What may stand for a parameter's gradient: a view, an optional view, a vector of either, some `rows`, or
/// `no_gradient`.
template <class Item>
concept gradient_item =
    view_item<Item> || is_optional_views_v<Item> || is_rows_v<Item> || std::same_as<Item, no_gradient_t>;

namespace detail {
template <class T>
struct gradient_view {
  using type = view_of_t<T>;
};
template <class View>
struct gradient_view<std::optional<View>> {
  using type = View;
};
template <class View, class Allocator>
struct gradient_view<std::vector<std::optional<View>, Allocator>> {
  using type = View;
};
template <class Indices, class Values>
struct gradient_view<rows<Indices, Values>> {
  using type = Values;
};
template <>
struct gradient_view<no_gradient_t> {
  using type = void;
};
}  // namespace detail

/// The view type behind an item, void for `no_gradient`.
template <gradient_item Item>
using gradient_view_t = typename detail::gradient_view<Item>::type;

/// A microbatch's gradients, averaged over the unit of the normalization: one for each parameter, in their order.
///
/// `mean_gradient{}` names none: the microbatch counts, and touches no parameter.
template <class... Items>
class mean_gradient {
 public:
  static constexpr bool is_mean = true;
  explicit mean_gradient(Items... gradients) : items(std::move(gradients)...) {}
  std::tuple<Items...> items;
};
template <class... Items>
mean_gradient(Items...) -> mean_gradient<Items...>;

/// A microbatch's gradients, summed over the unit of the normalization: one for each parameter, in their order.
template <class... Items>
class sum_gradient {
 public:
  static constexpr bool is_mean = false;
  explicit sum_gradient(Items... gradients) : items(std::move(gradients)...) {}
  std::tuple<Items...> items;
};
template <class... Items>
sum_gradient(Items...) -> sum_gradient<Items...>;

template <class T>
inline constexpr bool is_contribution_v = false;
template <class... Items>
inline constexpr bool is_contribution_v<mean_gradient<Items...>> = true;
template <class... Items>
inline constexpr bool is_contribution_v<sum_gradient<Items...>> = true;

/// Gradients of one microbatch that say whether they are a mean or a sum.
template <class T>
concept contribution = is_contribution_v<T> || is_written_v<T>;

template <class T>
inline constexpr bool has_rows_v = false;
template <template <class...> class Contribution, class... Items>
inline constexpr bool has_rows_v<Contribution<Items...>> = (is_rows_v<Items> || ...);

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_MASTER_WEIGHTS_HPP
#define ACCRUE_CORE_MASTER_WEIGHTS_HPP

#include <accrue/core/scalar.hpp>
#include <accrue/core/view_item.hpp>

#include <Kokkos_Core.hpp>
#include <type_traits>
#include <utility>

namespace accrue {

/// A parameter whose `weights` the update changes, and whose rounded copy is written in the same pass: the forward pass
/// reads 16 bits, while small updates are not lost to rounding.
///
/// Stands among `parameters` for a view or a vector of views. Gradients have the shape of the weights, and the scalar
/// that the producer likes. Order: the copy is written where the update changes the weights, and not before: begin with
/// equal values. Guarantee: after an update the copy is the weights, rounded to the nearest. Cost: the copy's bytes,
/// instead of a pass that reads the weights once more. Failure: `accrue::error` for other extents, and where it shares
/// storage. Source: Micikevicius et al. 2018.
/// Example: `accrue::parameters(accrue::master_weights{theta, theta_half})`
template <class Weights, class Copy>
struct master_weights {
  master_weights(Weights of, Copy to) : weights(std::move(of)), copy(std::move(to)) {}
  Weights weights;
  Copy copy;
};

template <class T>
inline constexpr bool is_master_weights_v = false;
template <class Weights, class Copy>
inline constexpr bool is_master_weights_v<master_weights<Weights, Copy>> = true;

template <class Weights, class Copy>
struct view_of<master_weights<Weights, Copy>> : view_of<Weights> {};

namespace detail {
template <class Item>
struct copy_view {
  using type = void;
  static constexpr bool fits = true;
};
template <class Weights, class Copy>
struct copy_view<master_weights<Weights, Copy>> {
  using type = void;
  static constexpr bool fits = false;
};
template <view_item Weights, view_item Copy>
struct copy_view<master_weights<Weights, Copy>> {
  using type = view_of_t<Copy>;
  using from = typename view_of_t<Weights>::non_const_value_type;
  using to = typename type::non_const_value_type;
  static constexpr bool fits =
      Kokkos::is_view_v<Weights> == Kokkos::is_view_v<Copy> && view_of_t<Weights>::rank() == type::rank() &&
      !std::is_const_v<typename type::value_type> && gradient_scalar<to> && is_complex_v<from> == is_complex_v<to>;
};
}  // namespace detail

/// The view type of an item's copy, void where it has none.
template <class Item>
using copy_view_t = typename detail::copy_view<Item>::type;

/// Whether an item has no copy, or one that its weights can be rounded into.
template <class Item>
inline constexpr bool copy_fits_v = detail::copy_view<Item>::fits;

}  // namespace accrue
#endif

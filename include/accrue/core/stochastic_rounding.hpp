// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_STOCHASTIC_ROUNDING_HPP
#define ACCRUE_CORE_STOCHASTIC_ROUNDING_HPP

#include <accrue/core/scalar.hpp>
#include <accrue/core/view_item.hpp>

#include <utility>

namespace accrue {

/// Parameters of 16 bits whose new values an update rounds up or down at random, so that they are right on average:
/// small updates are not lost, without the bytes of master weights.
///
/// Stands among `parameters` for a view or a vector of views. Guarantee: the chances come from the numbers of the
/// parameter, the element in memory, and the updates of the parameter: the same on every replica, for any number of
/// threads, and after a restart. Cost: no memory. Failure: compile error for wider parameters.
/// Source: Gupta et al. 2015. Example: `accrue::parameters(accrue::stochastic_rounding{theta})`
template <class Weights>
struct stochastic_rounding {
  explicit stochastic_rounding(Weights of) : weights(std::move(of)) {}
  Weights weights;
};

template <class T>
inline constexpr bool is_stochastic_rounding_v = false;
template <class Weights>
inline constexpr bool is_stochastic_rounding_v<stochastic_rounding<Weights>> = true;

template <class Weights>
struct view_of<stochastic_rounding<Weights>> : view_of<Weights> {};

/// Whether an item is not to be rounded at random, or can be.
template <class Item>
inline constexpr bool random_rounding_fits_v = true;
template <class Weights>
inline constexpr bool random_rounding_fits_v<stochastic_rounding<Weights>> = false;
template <view_item Weights>
inline constexpr bool random_rounding_fits_v<stochastic_rounding<Weights>> =
    detail::sixteen_bit<typename view_of_t<Weights>::non_const_value_type>;

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_HELD_IN_COMMON_HPP
#define ACCRUE_CORE_HELD_IN_COMMON_HPP

#include <accrue/core/view_item.hpp>

#include <utility>

namespace accrue {

/// A parameter that all partners of a `model_parallel` replica hold, with equal gradients: it counts once in their
/// norm.
///
/// Stands among `parameters` for a view or a vector of views; nothing else changes.
/// Example: `accrue::parameters(own_part, accrue::held_in_common{bias})`
template <class Weights>
struct held_in_common {
  explicit held_in_common(Weights of) : weights(std::move(of)) {}
  Weights weights;
};

template <class T>
inline constexpr bool is_held_in_common_v = false;
template <class Weights>
inline constexpr bool is_held_in_common_v<held_in_common<Weights>> = true;

template <class Weights>
struct view_of<held_in_common<Weights>> : view_of<Weights> {};

}  // namespace accrue
#endif

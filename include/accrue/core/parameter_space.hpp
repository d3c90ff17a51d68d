// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_PARAMETER_SPACE_HPP
#define ACCRUE_CORE_PARAMETER_SPACE_HPP

#include <accrue/core/parameters.hpp>

#include <Kokkos_Core.hpp>
#include <type_traits>
#include <utility>

namespace accrue {

template <class Exec, class View>
inline constexpr bool reaches_v = Kokkos::SpaceAccessibility<Exec, typename View::memory_space>::accessible;

namespace detail {
template <class Exec, class Copy>
inline constexpr bool reaches_copy_v = reaches_v<Exec, Copy>;
template <class Exec>
inline constexpr bool reaches_copy_v<Exec, void> = true;
template <class Exec, class Set>
inline constexpr bool reaches_all_v = true;
template <class Exec, class Sizes, class... Items>
inline constexpr bool reaches_all_v<Exec, parameter_set<Sizes, Items...>> =
    ((reaches_v<Exec, view_of_t<Items>> && reaches_copy_v<Exec, copy_view_t<Items>>)&&...);
}  // namespace detail

/// Stands for a first argument that is no set of parameters.
struct not_parameters {
  template <class T>
  not_parameters(T const&) {}  // from anything, so that nothing else is said
  operator parameter_set<std::index_sequence<0>>() const { return {}; }
};

/// The set of parameters, or an empty one where something else was given.
template <class Set>
using parameters_or_none = std::conditional_t<is_parameter_set_v<Set>, Set, parameter_set<std::index_sequence<0>>>;

template <class Set>
struct default_execution_space;
template <class Sizes, class First, class... Rest>
struct default_execution_space<parameter_set<Sizes, First, Rest...>> {
  using type = typename view_of_t<First>::execution_space;
};
template <class Sizes>
struct default_execution_space<parameter_set<Sizes>> {
  using type = Kokkos::DefaultExecutionSpace;
};
template <class Set>
using default_execution_space_t = typename default_execution_space<Set>::type;

/// The execution space reaches the memory of every parameter.
template <class Exec, class Set>
concept reachable_by = detail::reaches_all_v<Exec, Set>;

}  // namespace accrue
#endif

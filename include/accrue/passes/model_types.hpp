// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_MODEL_TYPES_HPP
#define ACCRUE_PASSES_MODEL_TYPES_HPP

#include <accrue/core/carried.hpp>
#include <accrue/core/contribution.hpp>
#include <accrue/core/parameters.hpp>
#include <accrue/core/type_list.hpp>
#include <accrue/passes/block.hpp>

#include <tuple>
#include <type_traits>

namespace accrue {

namespace detail {

template <class Exec, class Summation, class Scalars>
struct blocks;
template <class Exec, class Summation, class... Ps>
struct blocks<Exec, Summation, type_list<Ps...>> {
  using type = std::tuple<block<Exec, Ps, typename Summation::template buffer_scalar<Ps>>...>;
};

/// Types of the same bits are one to a kernel, as they are to `scalar_id`: accrue's 16-bit types stand for Kokkos's.
template <class T>
struct read_as {
  using type = T;
};
template <sixteen_bit T>
struct read_as<T> : half_storage<T> {};

/// The scalar of a gradient if its parameter has scalar `P`, else void; of rows void, because they are added by
/// themselves.
template <class P, class Item, class Gradient>
struct scalar_for {
  using type = void;
};
template <class P, parameter_item Item, gradient_item Gradient>
  requires(std::is_same_v<typename view_of_t<Item>::non_const_value_type, P> &&
           !std::is_void_v<gradient_view_t<Gradient>> && !is_rows_v<Gradient>)
struct scalar_for<P, Item, Gradient> {
  using type = typename read_as<typename gradient_view_t<Gradient>::non_const_value_type>::type;
};

template <class P, class Set, class Contribution>
struct gradient_scalars {
  using type = type_list<>;
};
template <class P, class Sizes, class... Items, template <class...> class Contribution, class... Gradients>
  requires(sizeof...(Items) == sizeof...(Gradients))
struct gradient_scalars<P, parameter_set<Sizes, Items...>, Contribution<Gradients...>> {
  using type = unique_t<typename scalar_for<P, Items, Gradients>::type...>;
};

}  // namespace detail

/// One block for each scalar type of the parameters.
template <class Exec, class Summation, class Scalars>
using blocks_of = typename detail::blocks<Exec, Summation, Scalars>::type;

/// The scalars that the parameters of a set are summed in.
template <class Summation, class Set>
struct buffer_scalars;
template <class Summation, class Sizes, class... Items>
struct buffer_scalars<Summation, parameter_set<Sizes, Items...>> {
  using type = unique_t<typename Summation::template buffer_scalar<typename view_of_t<Items>::non_const_value_type>...>;
};

/// The scalars that their products are formed in, which a clip on the microbatch sees.
template <class Summation, class Set>
struct product_scalars;
template <class Summation, class Sizes, class... Items>
struct product_scalars<Summation, parameter_set<Sizes, Items...>> {
  using type = unique_t<product_scalar<
      Summation, typename Summation::template buffer_scalar<typename view_of_t<Items>::non_const_value_type>>...>;
};

/// The scalars of those gradients in a contribution that belong to parameters of scalar `P`.
template <class P, class Set, class Contribution>
using gradient_scalars = typename detail::gradient_scalars<P, Set, Contribution>::type;

}  // namespace accrue
#endif

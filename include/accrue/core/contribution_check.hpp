// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_CONTRIBUTION_CHECK_HPP
#define ACCRUE_CORE_CONTRIBUTION_CHECK_HPP

#include <accrue/core/contribution.hpp>
#include <accrue/core/diagnostics.hpp>
#include <accrue/core/facts.hpp>
#include <accrue/core/parameter_space.hpp>
#include <accrue/core/replica_transport.hpp>

#include <type_traits>

namespace accrue {

/// Checks a call of `accumulate` at compile time; the first thing that is wrong is the only thing said.
template <class Recipe, class Exec, class Set, class Contribution, class... Facts>
class contribution_check;

template <class Recipe, class Exec, class Sizes, class... Items, class Contribution, class... Facts>
class contribution_check<Recipe, Exec, parameter_set<Sizes, Items...>, Contribution, Facts...> {
  template <class Gradients>
  struct of;
  template <template <class...> class Wrapper, class... Gradients>
  struct of<Wrapper<Gradients...>> {
    static constexpr bool all_gradients = (gradient_item<Gradients> && ...);
    // No items: the parameters were refused, which has been said.
    static constexpr bool right_number =
        sizeof...(Gradients) == 0 || sizeof...(Gradients) == sizeof...(Items) || sizeof...(Items) == 0;

    template <class Gradient>
    static constexpr bool reached() {
      using view = gradient_view_t<Gradient>;
      if constexpr (std::is_void_v<view>)
        return true;
      else
        return reaches_v<Exec, view>;
    }
    template <class Gradient>
    static constexpr bool scalar_known() {
      using view = gradient_view_t<Gradient>;
      if constexpr (std::is_void_v<view>)
        return true;
      else
        return gradient_scalar<typename view::non_const_value_type>;
    }
    template <class Item, class Gradient>
    static constexpr bool rows_fit() {
      if constexpr (is_rows_v<Gradient>)
        return rows_readable_v<Exec, Gradient> && Kokkos::is_view_v<weights_of_t<Item>>;
      else
        return true;
    }
    static constexpr bool all_rows_fit() {
      if constexpr (sizeof...(Gradients) == sizeof...(Items)) {
        return (rows_fit<Items, Gradients>() && ...);
      } else {
        return true;
      }
    }
    template <class Item, class Gradient>
    static constexpr bool kept_whole() {
      using view = gradient_view_t<Gradient>;
      if constexpr (std::is_void_v<view>) {
        return true;
      } else {
        using wide = accumulation_scalar_t<typename view::non_const_value_type>;
        using buffer =
            typename Recipe::summation_type::template buffer_scalar<typename view_of_t<Item>::non_const_value_type>;
        return is_complex_v<wide> == is_complex_v<buffer> && sizeof(wide) <= sizeof(buffer);
      }
    }
    template <class Item, class Gradient>
    static constexpr bool of_rank() {
      using view = gradient_view_t<Gradient>;
      if constexpr (std::is_void_v<view>)
        return true;
      else
        return view::rank() == view_of_t<Item>::rank();
    }
    static constexpr bool all_of_rank() {
      if constexpr (sizeof...(Gradients) == sizeof...(Items)) {
        return (of_rank<Items, Gradients>() && ...);
      } else {
        return true;
      }
    }
    template <bool Comparable>
    static constexpr bool all_kept_whole() {
      if constexpr (Comparable && sizeof...(Gradients) == sizeof...(Items)) {
        return (kept_whole<Items, Gradients>() && ...);
      } else {
        return true;
      }
    }
  };

  template <class Needs>
  static constexpr bool has() {
    if constexpr (std::is_void_v<Needs>)
      return true;
    else
      return has_fact<Needs, Facts...>;
  }
  template <class Fact>
  static constexpr bool loss_readable() {
    if constexpr (loss_fact<Fact>) {
      using value = std::remove_cvref_t<decltype(std::declval<Fact const&>().value)>;
      if constexpr (Kokkos::is_view_v<value>) {
        using scalar = typename value::non_const_value_type;
        return reaches_v<Exec, value> && gradient_scalar<scalar> && !is_complex_v<scalar>;
      } else {
        return std::is_convertible_v<value, double>;
      }
    } else {
      return true;
    }
  }
  static constexpr bool boundary_served() {
    using boundary = typename Recipe::boundary_type;
    if constexpr (requires { typename boundary::needs; })
      return has<typename boundary::needs>();
    else
      return true;
  }

 public:
  static constexpr bool passes() {
    static_assert(contribution<Contribution>, ACCRUE_SAY_BARE_GRADIENT);
    if constexpr (is_written_v<Contribution>) {
      return facts_pass();
    } else if constexpr (contribution<Contribution>) {
      using gradients = of<Contribution>;
      constexpr bool is_views = gradients::all_gradients;
      static_assert(is_views, ACCRUE_SAY_NOT_A_GRADIENT);
      if constexpr (is_views) {
        if constexpr (views_pass<gradients>()) return facts_pass();
      }
    }
    return false;
  }

 private:
  template <class Gradients>
  static constexpr bool views_pass() {
    constexpr bool counted = Gradients::right_number;
    static_assert(counted, ACCRUE_SAY_GRADIENT_COUNT);
    constexpr bool ranked = Gradients::all_of_rank();
    static_assert(ranked, ACCRUE_SAY_GRADIENT_RANK);
    return []<template <class...> class W, class... Gs>(std::type_identity<W<Gs...>>) {
      constexpr bool known = (Gradients::template scalar_known<Gs>() && ...);
      static_assert(known || !ranked, ACCRUE_SAY_GRADIENT_SCALAR);
      constexpr bool reached = (Gradients::template reached<Gs>() && ...);
      static_assert(reached || !known || !ranked, ACCRUE_SAY_UNREACHABLE_GRADIENT);
      constexpr bool whole = Gradients::template all_kept_whole < known && counted && ranked > ();
      static_assert(whole, ACCRUE_SAY_NARROWED_GRADIENT);
      constexpr bool indexed = Gradients::all_rows_fit();
      static_assert(indexed || !whole || !reached || !known || !ranked || !counted, ACCRUE_SAY_ROWS);
      return counted && ranked && known && reached && whole && indexed;
    }(std::type_identity<Contribution>{});
  }

  static constexpr bool facts_pass() {
    constexpr bool known = (microbatch_fact<Facts> && ...);
    constexpr bool readable = (loss_readable<Facts>() && ...);
    constexpr bool once = facts_once<Facts...>;
    constexpr bool clear = known && readable && once;
    constexpr bool always_added = !Recipe::objective_type::own_is_mean && !Contribution::is_mean;
    using needs = typename Recipe::normalization_type::needs;
    constexpr bool divisible = (always_added && !(is_mean_loss_v<Facts> || ...)) || has<needs>();
    constexpr bool lacks = clear && !divisible;
    constexpr bool lacks_samples = lacks && std::is_same_v<needs, samples>;
    constexpr bool lacks_tokens = lacks && std::is_same_v<needs, tokens>;
    constexpr bool lacks_weight = lacks && std::is_same_v<needs, weight>;
    static_assert(known, ACCRUE_SAY_NOT_A_FACT);
    constexpr bool whole_mean = arrives_reduced_v<typename Recipe::replicas_type> && Contribution::is_mean;
    static_assert(!whole_mean, ACCRUE_SAY_REDUCED_MEAN);
    static_assert(readable || !known, ACCRUE_SAY_LOSS_VALUE);
    static_assert(once || !known || !readable, ACCRUE_SAY_FACT_TWICE);
    static_assert(!lacks_samples, ACCRUE_SAY_SAMPLES_MISSING);
    static_assert(!lacks_tokens, ACCRUE_SAY_TOKENS_MISSING);
    static_assert(!lacks_weight, ACCRUE_SAY_WEIGHT_MISSING);
    static_assert(!lacks || lacks_samples || lacks_tokens || lacks_weight, ACCRUE_SAY_COUNT_MISSING);
    static_assert(boundary_served() || !divisible || !clear, ACCRUE_SAY_BOUNDARY_COUNT_MISSING);
    return clear && divisible && boundary_served();
  }
};

}  // namespace accrue
#endif

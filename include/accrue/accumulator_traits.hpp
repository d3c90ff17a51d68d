// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATOR_TRAITS_HPP
#define ACCRUE_ACCUMULATOR_TRAITS_HPP

#include <accrue/core/contribution.hpp>
#include <accrue/core/diagnostics.hpp>
#include <accrue/core/facts.hpp>
#include <accrue/finalize/clip_policy.hpp>
#include <accrue/passes/apply.hpp>
#include <accrue/recipe.hpp>
#include <accrue/update/per_group.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// What accumulator.hpp asks about types before it does anything, one readable error for each wrong use.

namespace accrue {

template <class Exec, class View>
inline constexpr bool reaches_v = Kokkos::SpaceAccessibility<Exec, typename View::memory_space>::accessible;

namespace detail {
template <class Exec, class Set> inline constexpr bool reaches_all_v = true;
template <class Exec, class Sizes, class... Items>
inline constexpr bool reaches_all_v<Exec, parameter_set<Sizes, Items...>> = (reaches_v<Exec, view_of_t<Items>> && ...);

/// The rules of the slot update, one for each parameter group, as they are launched and as they are called.
template <class Update> struct rule_tuple {
  static constexpr std::size_t size = 1;
  static auto of(Update const& update) { return std::tuple<Update const&>(update); }
};
template <class... Rules> struct rule_tuple<per_group<Rules...>> {
  static constexpr std::size_t size = sizeof...(Rules);
  static auto const& of(per_group<Rules...> const& update) { return update.rules(); }
};

template <class Rule> [[nodiscard]] auto device_part_of(Rule const& rule) {
  if constexpr (host_update_policy<Rule>) {
    return rule.device_part();
  } else {
    return rule;
  }
}
template <class Rule> [[nodiscard]] auto listed(Rule rule) { return rule_list<Rule>{std::move(rule)}; }
template <class Rule, class Next, class... Rest> [[nodiscard]] auto listed(Rule rule, Next next, Rest... rest) {
  return rule_list<Rule, Next, Rest...>{std::move(rule), listed(std::move(next), std::move(rest)...)};
}
}  // namespace detail

/// Stands for a first argument that is no set of parameters.
struct not_parameters {
  template <class T> not_parameters(T const&) {}  // from anything, so that nothing else is said
};

template <class Set> struct default_execution_space;
template <class Sizes, class First, class... Rest>
struct default_execution_space<parameter_set<Sizes, First, Rest...>> {
  using type = typename view_of_t<First>::execution_space;
};
template <class Sizes> struct default_execution_space<parameter_set<Sizes>> {
  using type = Kokkos::DefaultExecutionSpace;
};
template <class Set> using default_execution_space_t = typename default_execution_space<Set>::type;

/// The execution space reaches the memory of every parameter.
template <class Exec, class Set>
concept reachable_by = detail::reaches_all_v<Exec, Set>;

/// The rules of an accumulator: how many, what state they keep, what is launched.
template <class Update, class Set> struct update_rules {
  using tuple = detail::rule_tuple<Update>;
  static constexpr bool given = !std::is_same_v<Update, no_update>;
  static constexpr bool fits = tuple::size == Set::group_count || !is_per_group_v<Update>;

  static constexpr bool calls_host = []<class... Rules>(std::type_identity<std::tuple<Rules...>>) {
    return (host_update_policy<std::remove_cvref_t<Rules>> || ...);
  }(std::type_identity<std::remove_cvref_t<decltype(tuple::of(std::declval<Update const&>()))>>{});

  [[nodiscard]] static std::string const& label(Update const&) {
    static std::string const text = [] {
      if constexpr (requires { std::string_view(Update::name); })
        return "accrue::update::" + std::string(Update::name);
      else
        return std::string("accrue::update::user_policy");
    }();
    return text;
  }

  /// Calls the host's part of every rule that has one, with the finished gradients of its parameter group.
  template <class Model, class Exec>
  static void call(Update const& update, Model const& model, Exec const& exec, std::vector<bool> const& touched,
                   device_record const& found) {
    [&]<std::size_t... Group>(std::index_sequence<Group...>) {
      (call_one<Group>(std::get<Group>(tuple::of(update)), model, exec, touched, found), ...);
    }
    (std::make_index_sequence<tuple::size>{});
  }

  [[nodiscard]] static int state_words(Update const& update) {
    return std::apply([](auto const&... rule) { return std::max({detail::device_part_of(rule).state_words()...}); },
                      tuple::of(update));
  }
  /// One rule for all groups stands in the list once; the list hands it to every group.
  [[nodiscard]] static auto on_device(Update const& update) {
    return std::apply([](auto const&... rule) { return detail::listed(detail::device_part_of(rule)...); },
                      tuple::of(update));
  }

 private:
  template <std::size_t Group, class Rule, class Model, class Exec>
  static void call_one(Rule const& rule, Model const& model, Exec const& exec, std::vector<bool> const& touched,
                       device_record const& found) {
    if constexpr (host_update_policy<Rule>) {
      if constexpr (is_per_group_v<Update>)
        rule.call(model.template finalized<Group, Group + 1>(exec, touched, found));
      else
        rule.call(model.template finalized<0, Set::group_count>(exec, touched, found));
    }
  }
};

/// The clip that acts on the group, and the one on the microbatch; a null pointer where there is none.
template <class Clip> [[nodiscard]] auto group_clip_of(Clip const& clip) {
  if constexpr (is_on_microbatch_v<Clip>) {
    return no_clip{};
  } else {
    return clip;
  }
}
template <class Clip> [[nodiscard]] auto microbatch_clip_of(Clip const& clip) {
  if constexpr (is_on_microbatch_v<Clip>) {
    return clip.clip();
  } else {
    return nullptr;
  }
}

/// Checks a call of `accumulate` at compile time; the first thing that is wrong is the only thing said.
template <class Recipe, class Exec, class Set, class Contribution, class... Facts> class contribution_check;

template <class Recipe, class Exec, class Sizes, class... Items, class Contribution, class... Facts>
class contribution_check<Recipe, Exec, parameter_set<Sizes, Items...>, Contribution, Facts...> {
  template <class Gradients> struct of;
  template <template <class...> class Wrapper, class... Gradients> struct of<Wrapper<Gradients...>> {
    static constexpr bool all_gradients = (gradient_item<Gradients> && ...);
    static constexpr bool right_number = sizeof...(Gradients) == 0 || sizeof...(Gradients) == sizeof...(Items);

    template <class Gradient> static constexpr bool reached() {
      using view = gradient_view_t<Gradient>;
      if constexpr (std::is_void_v<view>)
        return true;
      else
        return reaches_v<Exec, view>;
    }
    template <class Gradient> static constexpr bool scalar_known() {
      using view = gradient_view_t<Gradient>;
      if constexpr (std::is_void_v<view>)
        return true;
      else
        return gradient_scalar<typename view::non_const_value_type>;
    }
    template <class Item, class Gradient> static constexpr bool kept_whole() {
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
    template <bool Comparable> static constexpr bool all_kept_whole() {
      if constexpr (Comparable && sizeof...(Gradients) == sizeof...(Items)) {
        return (kept_whole<Items, Gradients>() && ...);
      } else {
        return true;
      }
    }
  };

  template <class Needs> static constexpr bool has() {
    if constexpr (std::is_void_v<Needs>)
      return true;
    else
      return has_fact<Needs, Facts...>;
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
    if constexpr (contribution<Contribution>) {
      using gradients = of<Contribution>;
      constexpr bool is_views = gradients::all_gradients;
      static_assert(is_views, ACCRUE_SAY_NOT_A_GRADIENT);
      if constexpr (is_views) return views_pass<gradients>() && facts_pass();
    }
    return false;
  }

 private:
  template <class Gradients> static constexpr bool views_pass() {
    constexpr bool counted = Gradients::right_number;
    static_assert(counted, ACCRUE_SAY_GRADIENT_COUNT);
    return []<template <class...> class W, class... Gs>(std::type_identity<W<Gs...>>) {
      constexpr bool known = (Gradients::template scalar_known<Gs>() && ...);
      static_assert(known, ACCRUE_SAY_GRADIENT_SCALAR);
      constexpr bool reached = (Gradients::template reached<Gs>() && ...);
      static_assert(reached || !known, ACCRUE_SAY_UNREACHABLE_GRADIENT);
      constexpr bool whole = Gradients::template all_kept_whole < known && counted > ();
      static_assert(whole, ACCRUE_SAY_NARROWED_GRADIENT);
      return counted && known && reached && whole;
    }(std::type_identity<Contribution>{});
  }

  static constexpr bool facts_pass() {
    constexpr bool known = (microbatch_fact<Facts> && ...);
    constexpr bool once = facts_once<Facts...>;
    constexpr bool always_added = !Recipe::objective_type::own_is_mean && !Contribution::is_mean;
    constexpr bool divisible =
        (always_added && !(is_mean_loss_v<Facts> || ...)) || has<typename Recipe::normalization_type::needs>();
    static_assert(known, ACCRUE_SAY_NOT_A_FACT);
    static_assert(once || !known, ACCRUE_SAY_FACT_TWICE);
    static_assert(divisible || !known || !once, ACCRUE_SAY_COUNT_MISSING);
    static_assert(boundary_served() || !divisible || !known || !once, ACCRUE_SAY_BOUNDARY_COUNT_MISSING);
    return known && once && divisible && boundary_served();
  }
};

}  // namespace accrue
#endif

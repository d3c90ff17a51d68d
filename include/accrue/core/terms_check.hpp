// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_TERMS_CHECK_HPP
#define ACCRUE_CORE_TERMS_CHECK_HPP

#include <accrue/core/contribution_check.hpp>
#include <accrue/core/diagnostics.hpp>
#include <accrue/core/facts.hpp>
#include <accrue/core/term_contribution.hpp>
#include <accrue/core/type_list.hpp>

#include <cstddef>
#include <type_traits>

namespace accrue {

/// Checks a call of `accumulate` with named terms at compile time; the first thing that is wrong is the only thing
/// said.
template <class Recipe, class Exec, class Set, class... Given>
class terms_check {
  using terms = typename Recipe::normalization_type;

  template <class Given_>
  struct tag_of {
    using type = void;
  };
  template <class Tag, class Contribution, class... Facts>
  struct tag_of<term_contribution<Tag, Contribution, Facts...>> {
    using type = Tag;
  };

  /// A term's part of the recipe, as a contribution of its own is checked against it.
  template <class Normalization>
  struct recipe_of_term {
    struct no_boundary {};
    using normalization_type = Normalization;
    using objective_type = typename Recipe::objective_type;
    using replicas_type = typename Recipe::replicas_type;
    using summation_type = typename Recipe::summation_type;
    using boundary_type = no_boundary;
  };

  // The facts of a term: its own, and those of the microbatch that it does not have itself.
  template <class Own, class... Rest>
  struct joined_facts {
    using type = Own;
  };
  template <class... Own, class Next, class... Rest>
  struct joined_facts<type_list<Own...>, Next, Rest...> {
    static constexpr bool skip = is_of_term_v<Next> || (std::is_same_v<Own, Next> || ...);
    using type =
        typename joined_facts<std::conditional_t<skip, type_list<Own...>, type_list<Own..., Next>>, Rest...>::type;
  };

  template <class Contribution, class Normalization, class... Facts>
  static constexpr bool facts_pass(type_list<Facts...>) {
    return contribution_check<recipe_of_term<Normalization>, Exec, Set, Contribution, Facts...>::passes();
  }
  template <class Tag, class Contribution, class... Facts>
  static constexpr bool term_passes(std::type_identity<term_contribution<Tag, Contribution, Facts...>>) {
    using normalization = typename terms::template normalization_of<terms::template index_of<Tag>>;
    return facts_pass<Contribution, normalization>(typename joined_facts<type_list<Facts...>, Given...>::type{});
  }
  template <class Fact>
  static constexpr bool term_passes(std::type_identity<Fact>) {
    return true;
  }

  template <class One>
  static constexpr bool given_once() {
    using tag = typename tag_of<One>::type;
    return !is_of_term_v<One> || (0 + ... + int(std::is_same_v<tag, typename tag_of<Given>::type>)) == 1;
  }
  static constexpr bool boundary_served() {
    using boundary = typename Recipe::boundary_type;
    if constexpr (requires { typename boundary::needs; })
      return has_fact<typename boundary::needs, Given...>;
    else
      return true;
  }

 public:
  static constexpr bool passes() {
    constexpr bool named = (is_of_term_v<Given> || ...) && !(contribution<Given> || ...);
    static_assert(named, ACCRUE_SAY_TERM_MISSING);
    constexpr bool losses_inside = !(loss_fact<Given> || ...);
    static_assert(losses_inside || !named, ACCRUE_SAY_LOSS_OF_NO_TERM);
    constexpr bool facts = ((is_of_term_v<Given> || microbatch_fact<Given>)&&...);
    static_assert(facts || !named || !losses_inside, ACCRUE_SAY_NOT_A_FACT);
    constexpr bool known =
        ((!is_of_term_v<Given> || terms::template times_named<typename tag_of<Given>::type> == 1) && ...);
    static_assert(known || !facts || !named || !losses_inside, ACCRUE_SAY_UNKNOWN_TERM);
    constexpr bool once = (given_once<Given>() && ...);
    constexpr bool so_far = known && facts && named && losses_inside;
    constexpr bool counts_once = ((is_of_term_v<Given> || times_given<Given, Given...> == 1) && ...);
    static_assert(once || !so_far, ACCRUE_SAY_TERM_TWICE);
    static_assert(counts_once || !once || !so_far, ACCRUE_SAY_FACT_TWICE);
    static_assert(boundary_served() || !counts_once || !once || !so_far, ACCRUE_SAY_BOUNDARY_COUNT_MISSING);
    if constexpr (so_far && once && counts_once && boundary_served())
      return (term_passes(std::type_identity<Given>{}) && ...);
    else
      return false;
  }
};

}  // namespace accrue
#endif

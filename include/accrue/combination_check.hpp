// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_COMBINATION_CHECK_HPP
#define ACCRUE_COMBINATION_CHECK_HPP

#include <accrue/accumulate/holding.hpp>
#include <accrue/core/carried.hpp>
#include <accrue/core/diagnostics.hpp>
#include <accrue/finalize/clip_policy.hpp>
#include <accrue/finalize/division.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/finalize/terms.hpp>

#include <type_traits>

// Which policies do not go together, checked at compile time by the recipe that asks for them. A non-finite policy that
// leaves microbatches out says so in a static member `rejects`; a summation whose bits do not depend on the order of
// the contributions in a static member `in_any_order`; one that keeps more than sums has a template `carry`.

namespace accrue::detail {

template <class T>
concept normalizes_somehow = normalization_policy<T> || named_terms<T>;

/// Whether a division that announces weights announces that of each normalization.
template <class Division, class Normalization>
inline constexpr bool announces_each = [] {
  if constexpr (normalization_policy<Normalization>)
    return announces_weights_of<Division, Normalization>;
  else
    return true;
}();
template <class Division, class... Tags, class... Normalizations>
inline constexpr bool announces_each<Division, terms<named_term<Tags, Normalizations>...>> =
    !named_terms<terms<named_term<Tags, Normalizations>...>> || announces_weights_of<Division, Normalizations...>;

/// Says what is wrong with the division of a recipe, the first thing only.
template <class Asked, class NonFinite>
struct division_check {
  using division = typename Asked::division;
  using summation = typename Asked::summation;
  static constexpr bool satisfied = division_policy<division>;
  static constexpr bool divides = [] {
    if constexpr (satisfied) return !division::keeps_sums;
    return false;
  }();
  static constexpr bool of_means = !divides || !requires { requires !Asked::objective::own_is_mean; };
  static constexpr bool rejects = requires { requires NonFinite::rejects; };
  static constexpr bool ordered = !carries_v<summation>;
  static constexpr bool rescales = divides && !is_early_v<division>;
  static constexpr bool announced = !Asked::normalizes || announces_each<division, typename Asked::normalization>;

  static constexpr bool good = satisfied && of_means && announced && !(divides && rejects) && !(rescales && !ordered);

  static constexpr bool passes() {
    static_assert(satisfied, ACCRUE_SAY_BAD_DIVISION);
    static_assert(of_means, ACCRUE_SAY_DIVISION_NEEDS_MEAN);
    static_assert(announced || !of_means, ACCRUE_SAY_EARLY_OF_OTHER_COUNT);
    static_assert(!(divides && rejects) || !announced || !of_means, ACCRUE_SAY_DIVIDED_AND_REJECTED);
    static_assert(!(rescales && !ordered) || rejects || !of_means, ACCRUE_SAY_RUNNING_IN_ANY_ORDER);
    return true;
  }
};

/// Weights that are no integers are summed on the device where microbatches may be rejected, in the order in which they
/// come.
template <class Asked, class NonFinite>
struct order_check {
  static constexpr bool rejects = requires { requires NonFinite::rejects; };
  static constexpr bool whole_numbers = !requires {
    requires !std::is_integral_v<typename Asked::normalization::count_type>;
  };
  static constexpr bool good = !(rejects && value_is_late_v<typename Asked::summation>) || whole_numbers;

  static constexpr bool passes() {
    static_assert(good, ACCRUE_SAY_ORDER_OF_WEIGHTS);
    return true;
  }
};

/// Says what does not go with the named terms of a recipe, the first thing only.
template <class Asked, class NonFinite>
struct terms_check_of_recipe {
  static constexpr bool named = has_terms_v<typename Asked::normalization>;
  static constexpr bool good = !named || named_terms<typename Asked::normalization>;
  static constexpr bool apart = std::is_same_v<typename Asked::division, late>;
  static constexpr bool whole =
      std::is_same_v<typename Asked::holding, one_at_a_time> && !is_on_microbatch_v<typename Asked::clip> && !requires {
    requires NonFinite::rejects;
  };
  static constexpr bool divided = !named || apart || is_early_v<typename Asked::division>;
  static constexpr bool plain = !apart || !requires { typename Asked::summation::template carry<float>; };

  static constexpr bool passes() {
    static_assert(good, ACCRUE_SAY_BAD_TERMS);
    static_assert(whole || !named || !good, ACCRUE_SAY_TERMS_ADDED_WHOLE);
    static_assert(divided || !good || !whole, ACCRUE_SAY_TERMS_AND_RUNNING);
    static_assert(plain || !named || !good || !whole || !divided, ACCRUE_SAY_TERMS_AND_CARRIED);
    return true;
  }
};

}  // namespace accrue::detail
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_UPDATE_CHECK_HPP
#define ACCRUE_UPDATE_CHECK_HPP

#include <accrue/core/carried.hpp>
#include <accrue/core/contribution.hpp>
#include <accrue/core/diagnostics.hpp>
#include <accrue/core/type_list.hpp>
#include <accrue/finalize/clip_policy.hpp>
#include <accrue/passes/apply.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace accrue {

/// Whether a clip keeps elements of the scalar `B` in that scalar.
template <class Clip, class B>
concept bounds = requires(Clip const clip, B const element) {
  { clip.bounded(element) } -> std::convertible_to<B>;
  requires std::same_as<std::remove_cvref_t<decltype(clip.bounded(element))>, B>;
};

namespace detail {

template <class Rule, class B>
using element_rule_t =
    std::remove_cvref_t<decltype(std::declval<Rule const&>().template for_update<real_t<B>>(std::int64_t{}))>;

template <class ElementRule, class B>
concept keeps_gradient = requires(ElementRule const rule, B& sum, B const& gradient) {
  rule.keep(sum, gradient);
};
template <class ElementRule, class B>
concept takes_gradient = requires(ElementRule const rule, B& parameter, B const& gradient,
                                  element_state<B> const& state) {
  rule(parameter, gradient, state);
};

}  // namespace detail

/// Whether a rule can be called for elements of the scalar `B`, or leaves them in the buffer.
// In named parts: nvcc 13.0 breaks off at a requires-expression whose parameters come from another's.
template <class Rule, class B>
concept changes = detail::keeps_gradient<detail::element_rule_t<Rule, B>, B> ||
    detail::takes_gradient<detail::element_rule_t<Rule, B>, B>;

/// Checks at compile time that a clip, on the group or on the microbatch, works on every scalar of the buffers.
template <class Clip, class Buffers>
class clip_check;

template <class Clip, class... Buffers>
class clip_check<Clip, type_list<Buffers...>> {
 public:
  static constexpr bool passes() {
    constexpr bool bounded = (bounds<Clip, Buffers> && ...);
    static_assert(bounded, ACCRUE_SAY_CLIP_OF_OTHER_SCALAR);
    return bounded;
  }
};
template <class Clip, class... Buffers>
class clip_check<on_microbatch<Clip>, type_list<Buffers...>> : public clip_check<Clip, type_list<Buffers...>> {};
template <class Clip, class... Buffers>
class clip_check<on_replica<Clip>, type_list<Buffers...>> : public clip_check<Clip, type_list<Buffers...>> {};

/// Checks at compile time that a contribution can be looked at by itself, where the recipe says so.
template <bool LooksFirst, class Contribution>
struct looked_at_check {
  static constexpr bool passes() {
    constexpr bool whole = !LooksFirst || !(is_written_v<Contribution> || has_rows_v<Contribution>);
    static_assert(whole, ACCRUE_SAY_CLIPPED_ALONE);
    return whole;
  }
};

/// Checks at compile time that a contribution is added by the passes, where the summation carries more than the sums.
template <class Summation, class Contribution>
struct carried_check {
  static constexpr bool passes() {
    constexpr bool added = !carries_v<Summation> || !(is_written_v<Contribution> || has_rows_v<Contribution>);
    static_assert(added, ACCRUE_SAY_CARRIED);
    return added;
  }
};

/// Checks at compile time that update rules work on every scalar of the buffers.
template <class Rules, class Buffers>
class rule_check;

template <class... Rules, class... Buffers>
class rule_check<rule_list<Rules...>, type_list<Buffers...>> {
  template <class B>
  static constexpr bool all_change = (changes<Rules, B> && ...);

 public:
  static constexpr bool passes() {
    constexpr bool changed = (all_change<Buffers> && ...);
    static_assert(changed, ACCRUE_SAY_RULE_OF_OTHER_SCALAR);
    return changed;
  }
};

}  // namespace accrue
#endif

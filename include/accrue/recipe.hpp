// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_RECIPE_HPP
#define ACCRUE_RECIPE_HPP

#include <accrue/accumulate/boundary.hpp>
#include <accrue/accumulate/holding.hpp>
#include <accrue/accumulate/summation.hpp>
#include <accrue/combination_check.hpp>
#include <accrue/core/diagnostics.hpp>
#include <accrue/core/parameters.hpp>
#include <accrue/core/slots.hpp>
#include <accrue/finalize/clip_policy.hpp>
#include <accrue/finalize/decide.hpp>
#include <accrue/finalize/division.hpp>
#include <accrue/finalize/last_group.hpp>
#include <accrue/finalize/loss_scale.hpp>
#include <accrue/finalize/non_finite.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/finalize/objective.hpp>
#include <accrue/finalize/shared_scale.hpp>
#include <accrue/finalize/terms.hpp>
#include <accrue/finalize/veto.hpp>
#include <accrue/reduce/one_replica.hpp>
#include <accrue/update/per_group.hpp>
#include <accrue/update/update_policy.hpp>

#include <ostream>
#include <type_traits>

namespace accrue {

namespace detail {

template <class T>
concept clips_somewhere = clip_policy<T> || is_on_microbatch_v<T> || is_on_replica_v<T>;
template <class T>
concept rejects_microbatches = non_finite_policy<T> && T::rejects;
template <class T>
concept updates_somehow =
    update_policy<T> || host_update_policy<T> || clocked_update_policy<T> || per_group_of_rules<T>;

// A policy that does not satisfy its slot is reported once, then replaced, so that nothing follows from it.
template <bool Satisfied, class Policy, class Fallback>
using satisfied_or = std::conditional_t<Satisfied, Policy, Fallback>;

/// Takes the place of an update policy that was reported.
struct reported_update : no_update {};

/// The policies that a recipe asks for.
template <class... Policies>
struct asked_for {
  template <class Slot, class Fallback>
  using given = policy_for_t<Slot, Fallback, Policies...>;

  static constexpr bool normalizes = times_filled<slot::normalization, Policies...> > 0;
  using normalization = given<slot::normalization, per_microbatch>;
  using objective = given<slot::objective, mean_objective>;
  using boundary = given<slot::boundary, user_closes>;
  using last_group = given<slot::last_group, no_last_group>;
  using clip = given<slot::clip, no_clip>;
  using summation = given<slot::summation, accrue::widened<>>;
  using holding = given<slot::holding, one_at_a_time>;
  using division = given<slot::division, late>;
  using loss_scale = given<slot::loss_scale, unscaled>;
  using non_finite = given<slot::non_finite, skip_group>;
  using veto = given<slot::veto, no_veto>;
  using replicas = given<slot::replicas, one_replica>;
  using update = given<slot::update, no_update>;

  static constexpr bool rejects = rejects_microbatches<non_finite>;
  /// Somebody has to look at a microbatch by itself before it is added.
  static constexpr bool looks_first = is_on_microbatch_v<clip> || rejects;
};

/// Says what is wrong with a recipe. A type of its own, because clang gives up a class at the first assertion that
/// fails in it.
template <class... Policies>
struct recipe_check {
  static constexpr bool done = true;  // stands before the assertions, so that it is there in any case

  using asked = asked_for<Policies...>;
  static constexpr bool all_policies = (policy<Policies> && ...);
  static constexpr bool normalizes = asked::normalizes;
  static constexpr bool pads = pads_weight<typename asked::last_group>;

  static constexpr bool has_views = (view_item<Policies> || ...);

  static_assert(!has_views, ACCRUE_SAY_BARE_VIEW);
  static_assert(all_policies || has_views, ACCRUE_SAY_NOT_A_POLICY);
  static_assert(times_filled<slot::schedule, Policies...> == 0, ACCRUE_SAY_BARE_SCHEDULE);
  static_assert(normalizes || !all_policies, ACCRUE_SAY_NO_NORMALIZATION);
  static_assert(at_most_once<slot::normalization, Policies...>, ACCRUE_SAY_TWO_NORMALIZATIONS);
  static_assert(at_most_once<slot::objective, Policies...>, ACCRUE_SAY_TWO_OBJECTIVES);
  static_assert(at_most_once<slot::boundary, Policies...>, ACCRUE_SAY_TWO_BOUNDARIES);
  static_assert(at_most_once<slot::last_group, Policies...>, ACCRUE_SAY_TWO_LAST_GROUPS);
  static_assert(at_most_once<slot::clip, Policies...>, ACCRUE_SAY_TWO_CLIPS);
  static_assert(at_most_once<slot::summation, Policies...>, ACCRUE_SAY_TWO_SUMMATIONS);
  static_assert(at_most_once<slot::division, Policies...>, ACCRUE_SAY_TWO_DIVISIONS);
  static_assert(at_most_once<slot::loss_scale, Policies...>, ACCRUE_SAY_TWO_LOSS_SCALES);
  static_assert(at_most_once<slot::non_finite, Policies...>, ACCRUE_SAY_TWO_NON_FINITES);
  static_assert(at_most_once<slot::replicas, Policies...>, ACCRUE_SAY_TWO_REPLICAS);
  static_assert(at_most_once<slot::update, Policies...>, ACCRUE_SAY_TWO_UPDATES);
  static_assert(at_most_once<slot::holding, Policies...>, ACCRUE_SAY_TWO_HOLDINGS);
  static_assert(at_most_once<slot::veto, Policies...>, ACCRUE_SAY_TWO_VETOES);
  static_assert(replicas_policy<typename asked::replicas>, ACCRUE_SAY_BAD_REPLICAS);
  static_assert(!arrives_reduced_v<typename asked::replicas> ||
                    (!asked::looks_first && !is_on_replica_v<typename asked::clip>),
                ACCRUE_SAY_REDUCED_AND_LOOKED_AT);
  static_assert(!arrives_reduced_v<typename asked::replicas> || !std::is_same_v<typename asked::division, running>,
                ACCRUE_SAY_REDUCED_AND_RUNNING);
  static_assert(!has_partners<typename asked::replicas> ||
                    (!asked::looks_first && !is_on_replica_v<typename asked::clip>),
                ACCRUE_SAY_PARTNERS_LOOK);
  static_assert(!replica_transport<typename asked::replicas> || !is_shared_scale_v<typename asked::loss_scale>,
                ACCRUE_SAY_SHARED_OVER_REPLICAS);
  static_assert(!overlaps_v<typename asked::replicas> ||
                    (!arrives_reduced_v<typename asked::replicas> && !has_terms_v<typename asked::normalization> &&
                     !carries_v<typename asked::summation> && !asked::looks_first &&
                     !is_on_replica_v<typename asked::clip> && !std::is_same_v<typename asked::division, running>),
                ACCRUE_SAY_OVERLAPPED);
  static_assert(!shards_v<typename asked::replicas> ||
                    (!arrives_reduced_v<typename asked::replicas> && !has_terms_v<typename asked::normalization> &&
                     !carries_v<typename asked::summation> && !asked::looks_first &&
                     !is_on_replica_v<typename asked::clip> && !std::is_same_v<typename asked::division, running> &&
                     std::is_same_v<typename asked::holding, one_at_a_time>),
                ACCRUE_SAY_SHARDED);
  static_assert(!is_on_replica_v<typename asked::clip> ||
                    (replica_transport<typename asked::replicas> && !has_terms_v<typename asked::normalization> &&
                     !asked::rejects && !carries_v<typename asked::summation>),
                ACCRUE_SAY_ON_REPLICA);

  static_assert(normalizes_somehow<typename asked::normalization> || has_terms_v<typename asked::normalization>,
                ACCRUE_SAY_BAD_NORMALIZATION);
  static_assert(terms_check_of_recipe<asked, policy_for_t<slot::non_finite, skip_group, Policies...>>::passes());
  static_assert(objective_policy<typename asked::objective>, ACCRUE_SAY_BAD_OBJECTIVE);
  static_assert(boundary_policy<typename asked::boundary>, ACCRUE_SAY_BAD_BOUNDARY);
  static_assert(last_group_policy<typename asked::last_group>, ACCRUE_SAY_BAD_LAST_GROUP);
  static_assert(clips_somewhere<typename asked::clip>, ACCRUE_SAY_BAD_CLIP);
  static_assert(summation_policy<typename asked::summation>, ACCRUE_SAY_BAD_SUMMATION);
  static_assert(holding_policy<typename asked::holding>, ACCRUE_SAY_BAD_HOLDING);
  static_assert(division_check<asked, policy_for_t<slot::non_finite, skip_group, Policies...>>::passes());
  static_assert(order_check<asked, policy_for_t<slot::non_finite, skip_group, Policies...>>::passes());
  static_assert(loss_scale_policy<typename asked::loss_scale>, ACCRUE_SAY_BAD_LOSS_SCALE);
  static_assert(non_finite_policy<typename asked::non_finite>, ACCRUE_SAY_BAD_NON_FINITE);
  static_assert(veto_policy<typename asked::veto>, ACCRUE_SAY_BAD_VETO);
  static_assert(!asked::looks_first || std::is_same_v<typename asked::holding, one_at_a_time>,
                ACCRUE_SAY_HELD_AND_CLIPPED);
  static_assert(updates_somehow<typename asked::update> || is_per_group_v<typename asked::update>,
                ACCRUE_SAY_BAD_UPDATE);
  static_assert(per_group_of_rules<typename asked::update> || !is_per_group_v<typename asked::update>,
                ACCRUE_SAY_NOT_A_RULE);
  static_assert(
      !pads || requires(typename asked::boundary const& b) { b.microbatches(); }, ACCRUE_SAY_PAD_NEEDS_EVERY);
  static_assert(!pads || std::is_same_v<typename asked::objective, mean_objective>, ACCRUE_SAY_PAD_NEEDS_MEAN);
};

template <class Slot, class Wanted, class... Policies>
[[nodiscard]] constexpr Wanted pick(Policies const&... policies) {
  if constexpr (std::is_same_v<policy_for_t<Slot, Wanted, Policies...>, Wanted>) {
    return policy_for<Slot, Wanted>(policies...);
  } else {
    return Wanted{};
  }
}

}  // namespace detail

/// The policies of one accumulator, as a type with values: one answer for each slot, given or by default.
///
/// Failure: a slot that is filled twice, a missing normalization, a contradiction is a compile error of one line.
/// Example: `std::cout << group.policies()` writes all of it.
template <class... Policies>
class recipe {
  using asked = detail::asked_for<Policies...>;
  template <bool Satisfied, class Policy, class Fallback>
  using or_else = detail::satisfied_or<Satisfied, Policy, Fallback>;
  template <class Slot>
  static constexpr bool once = at_most_once<Slot, Policies...>;
  static_assert(detail::recipe_check<Policies...>::done);
  using non_finite_asked = policy_for_t<slot::non_finite, skip_group, Policies...>;
  static constexpr bool pads = pads_weight<typename asked::last_group>;
  static constexpr bool may_pad = requires(typename asked::boundary const& b) { b.microbatches(); };

 public:
  using normalization_type =
      or_else<detail::normalizes_somehow<typename asked::normalization> && once<slot::normalization>,
              typename asked::normalization, per_microbatch>;
  using objective_type =
      or_else<objective_policy<typename asked::objective>, typename asked::objective, mean_objective>;
  using boundary_type =
      or_else<boundary_policy<typename asked::boundary> && once<slot::boundary>, typename asked::boundary, user_closes>;
  using last_group_type = or_else<last_group_policy<typename asked::last_group> && (may_pad || !pads),
                                  typename asked::last_group, keep_last>;
  using clip_type = or_else<detail::clips_somewhere<typename asked::clip>, typename asked::clip, no_clip>;
  using summation_type = or_else<summation_policy<typename asked::summation>, typename asked::summation, widened<>>;
  using holding_type = or_else<holding_policy<typename asked::holding> && once<slot::holding> && !asked::looks_first,
                               typename asked::holding, one_at_a_time>;
  using loss_scale_type = or_else<loss_scale_policy<typename asked::loss_scale> && once<slot::loss_scale>,
                                  typename asked::loss_scale, unscaled>;
  using non_finite_type = or_else<non_finite_policy<typename asked::non_finite> && once<slot::non_finite>,
                                  typename asked::non_finite, skip_group>;
  using veto_type = or_else<veto_policy<typename asked::veto> && once<slot::veto>, typename asked::veto, no_veto>;
  using replicas_type =
      or_else<replicas_policy<typename asked::replicas> && once<slot::replicas>, typename asked::replicas, one_replica>;
  static constexpr bool looks_first = asked::looks_first;  ///< at a microbatch by itself, before it is added
  using division_type =
      or_else<detail::division_check<asked, non_finite_asked>::good &&
                  detail::terms_check_of_recipe<asked, non_finite_asked>::divided && once<slot::division>,
              typename asked::division, late>;
  using update_type =
      or_else<detail::updates_somehow<typename asked::update>, typename asked::update, detail::reported_update>;

  /// Failure: `accrue::error` where a setting makes no sense.
  explicit recipe(Policies const&... policies)
      : normalization(detail::pick<slot::normalization, normalization_type>(policies...)),
        objective(detail::pick<slot::objective, objective_type>(policies...)),
        boundary(detail::pick<slot::boundary, boundary_type>(policies...)),
        last_group(detail::pick<slot::last_group, last_group_type>(policies...)),
        clip(detail::pick<slot::clip, clip_type>(policies...)),
        summation(detail::pick<slot::summation, summation_type>(policies...)),
        division(detail::pick<slot::division, division_type>(policies...)),
        loss_scale(detail::pick<slot::loss_scale, loss_scale_type>(policies...)),
        non_finite(detail::pick<slot::non_finite, non_finite_type>(policies...)),
        veto(detail::pick<slot::veto, veto_type>(policies...)),
        replicas(detail::pick<slot::replicas, replicas_type>(policies...)),
        holding(detail::pick<slot::holding, holding_type>(policies...)),
        update(detail::pick<slot::update, update_type>(policies...)) {
    for_each([](auto const& each) { accrue::validate(each); });
  }

  /// Calls `visit(policy)` for every slot, in the order in which the data meet them.
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit(normalization);
    visit(objective);
    visit(boundary);
    visit(holding);
    visit(summation);
    visit(replicas);
    visit(loss_scale);
    visit(division);
    visit(non_finite);
    visit(clip);
    if constexpr (!std::is_same_v<veto_type, no_veto>) visit(veto);
    visit(last_group);
    visit(update);
  }

  friend bool operator==(recipe const&, recipe const&) = default;

  friend std::ostream& operator<<(std::ostream& out, recipe const& r) {
    char const* separator = "";
    r.for_each([&](auto const& each) {
      out << separator;
      print_policy(out, each);
      separator = ", ";
    });
    return out;
  }

  normalization_type normalization;
  objective_type objective;
  boundary_type boundary;
  last_group_type last_group;
  clip_type clip;
  summation_type summation;
  division_type division;
  loss_scale_type loss_scale;
  non_finite_type non_finite;
  veto_type veto;
  replicas_type replicas;
  holding_type holding;
  update_type update;
};

}  // namespace accrue
#endif

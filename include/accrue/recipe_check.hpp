// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_RECIPE_CHECK_HPP
#define ACCRUE_RECIPE_CHECK_HPP

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

}  // namespace detail

}  // namespace accrue
#endif

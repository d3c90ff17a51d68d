// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_RECIPE_HPP
#define ACCRUE_RECIPE_HPP

#include <accrue/accumulate/boundary.hpp>
#include <accrue/accumulate/summation.hpp>
#include <accrue/core/diagnostics.hpp>
#include <accrue/core/slots.hpp>
#include <accrue/finalize/clip_policy.hpp>
#include <accrue/finalize/decide.hpp>
#include <accrue/finalize/last_group.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/finalize/objective.hpp>
#include <accrue/reduce/one_replica.hpp>
#include <accrue/update/per_group.hpp>
#include <accrue/update/update_policy.hpp>

#include <ostream>
#include <type_traits>

namespace accrue {

namespace detail {

template <class T>
concept clips_somewhere = clip_policy<T> || is_on_microbatch_v<T>;
template <class T>
concept updates_somehow = update_policy<T> || host_update_policy<T> || is_per_group_v<T>;

// A policy that does not satisfy its slot is reported once, then replaced, so that nothing follows from it.
template <bool Satisfied, class Policy, class Fallback>
using satisfied_or = std::conditional_t<Satisfied, Policy, Fallback>;

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
  template <class Slot, class Fallback>
  using given = policy_for_t<Slot, Fallback, Policies...>;

  using asked_normalization = given<slot::normalization, per_sample>;
  using asked_objective = given<slot::objective, mean_objective>;
  using asked_boundary = given<slot::boundary, user_closes>;
  using asked_last_group = given<slot::last_group, no_last_group>;
  using asked_clip = given<slot::clip, no_clip>;
  using asked_summation = given<slot::summation, widened<>>;
  using asked_update = given<slot::update, no_update>;

  static constexpr bool all_policies = (policy<Policies> && ...);
  static constexpr bool normalizes = times_filled<slot::normalization, Policies...> > 0;
  static constexpr bool pads = pads_weight<asked_last_group>;

  static_assert(all_policies, ACCRUE_SAY_NOT_A_POLICY);
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
  static_assert(times_filled<slot::veto, Policies...> + times_filled<slot::holding, Policies...> == 0 &&
                    std::is_same_v<given<slot::division, late>, late> &&
                    std::is_same_v<given<slot::loss_scale, unscaled>, unscaled> &&
                    std::is_same_v<given<slot::non_finite, skip_group>, skip_group> &&
                    std::is_same_v<given<slot::replicas, one_replica>, one_replica>,
                ACCRUE_SAY_SLOT_NOT_OFFERED);

  static_assert(normalization_policy<asked_normalization>, ACCRUE_SAY_BAD_NORMALIZATION);
  static_assert(objective_policy<asked_objective>, ACCRUE_SAY_BAD_OBJECTIVE);
  static_assert(boundary_policy<asked_boundary>, ACCRUE_SAY_BAD_BOUNDARY);
  static_assert(last_group_policy<asked_last_group>, ACCRUE_SAY_BAD_LAST_GROUP);
  static_assert(detail::clips_somewhere<asked_clip>, ACCRUE_SAY_BAD_CLIP);
  static_assert(summation_policy<asked_summation>, ACCRUE_SAY_BAD_SUMMATION);
  static_assert(detail::updates_somehow<asked_update>, ACCRUE_SAY_BAD_UPDATE);
  static_assert(
      !pads || requires(asked_boundary const& b) { b.microbatches(); }, ACCRUE_SAY_PAD_NEEDS_EVERY);
  static_assert(!pads || std::is_same_v<asked_objective, mean_objective>, ACCRUE_SAY_PAD_NEEDS_MEAN);

 public:
  using normalization_type =
      detail::satisfied_or<normalization_policy<asked_normalization>, asked_normalization, per_sample>;
  using objective_type = detail::satisfied_or<objective_policy<asked_objective>, asked_objective, mean_objective>;
  using boundary_type = detail::satisfied_or<boundary_policy<asked_boundary>, asked_boundary, user_closes>;
  using last_group_type = detail::satisfied_or<last_group_policy<asked_last_group>, asked_last_group, no_last_group>;
  using clip_type = detail::satisfied_or<detail::clips_somewhere<asked_clip>, asked_clip, no_clip>;
  using summation_type = detail::satisfied_or<summation_policy<asked_summation>, asked_summation, widened<>>;
  using update_type = detail::satisfied_or<detail::updates_somehow<asked_update>, asked_update, no_update>;

  /// Failure: `accrue::error` where a setting makes no sense.
  explicit recipe(Policies const&... policies)
      : normalization(detail::pick<slot::normalization, normalization_type>(policies...)),
        objective(detail::pick<slot::objective, objective_type>(policies...)),
        boundary(detail::pick<slot::boundary, boundary_type>(policies...)),
        last_group(detail::pick<slot::last_group, last_group_type>(policies...)),
        clip(detail::pick<slot::clip, clip_type>(policies...)),
        summation(detail::pick<slot::summation, summation_type>(policies...)),
        update(detail::pick<slot::update, update_type>(policies...)) {
    for_each([](auto const& each) { accrue::validate(each); });
  }

  /// Calls `visit(policy)` for every slot, in the order in which the data meet them.
  template <class Visit>
  void for_each(Visit&& visit) const {
    visit(normalization);
    visit(objective);
    visit(boundary);
    visit(summation);
    visit(replicas);
    visit(loss_scale);
    visit(division);
    visit(non_finite);
    visit(clip);
    visit(last_group);
    visit(update);
  }

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
  late division{};
  unscaled loss_scale{};
  skip_group non_finite{};
  one_replica replicas{};
  update_type update;
};

}  // namespace accrue
#endif

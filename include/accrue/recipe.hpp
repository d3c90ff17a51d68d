// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_RECIPE_HPP
#define ACCRUE_RECIPE_HPP

#include <accrue/core/slots.hpp>
#include <accrue/recipe_check.hpp>

#include <ostream>
#include <type_traits>

namespace accrue {

namespace detail {

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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_MAKE_RUN_SHEET_HPP
#define ACCRUE_MAKE_RUN_SHEET_HPP

#include <accrue/accumulator.hpp>
#include <accrue/ledger/run_history.hpp>
#include <accrue/ledger/run_sheet.hpp>
#include <accrue/ledger/write_run_sheet.hpp>
#include <accrue/passes/shape_check.hpp>
#include <accrue/recipe_text.hpp>
#include <accrue/version.hpp>

#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace accrue {

namespace detail {

template <class List>
struct scalars_of_items;
template <class... Items>
struct scalars_of_items<std::tuple<Items...>> {
  using type = unique_t<typename view_of_t<Items>::non_const_value_type...>;
};

template <class List>
[[nodiscard]] std::string scalar_names() {
  std::string names;
  List::for_each([&]<class T>(std::type_identity<T>) {
    names.append(names.empty() ? "" : ", ").append(detail::scalar_name(scalar_id<T>()));
  });
  return names;
}

}  // namespace detail

/// The run sheet of an accumulator as it stands. `history` has observed it, from the beginning if all is to be told.
///
/// Order: at the end of the run, or at any time. Guarantee: changes nothing. Cost: as `ledger()`: one fence, if groups
/// were closed since. Example: examples/run_sheet
template <class Exec, class Set, class... Policies>
[[nodiscard]] run_sheet make_run_sheet(accumulator<Exec, Set, Policies...>& group, run_history const& history) {
  using recipe_type = recipe<Policies...>;
  using clip = decltype(group_clip_of(std::declval<typename recipe_type::clip_type>()));
  recipe_type const& policies = group.policies();
  run_sheet sheet;
  sheet.ledger = group.ledger();  // first: observers see the last groups now
  sheet.history = history;
  sheet.open = group.counts_held();
  sheet.version = joined({std::to_string(ACCRUE_VERSION_MAJOR), ".", std::to_string(ACCRUE_VERSION_MINOR), ".",
                          std::to_string(ACCRUE_VERSION_PATCH)});
  sheet.parameters = detail::scalar_names<typename detail::scalars_of_items<typename Set::items_type>::type>();
  sheet.sums = detail::scalar_names<typename buffer_scalars<typename recipe_type::summation_type, Set>::type>();
  sheet.recipe = policy_texts(policies);
  sheet.normalization = policy_text(policies.normalization);
  sheet.boundary = policy_text(policies.boundary);
  sheet.last_group = policy_text(policies.last_group);
  if constexpr (requires { policies.boundary.microbatches(); })
    sheet.group_size = policies.boundary.microbatches().value();
  sheet.norm_is_clipped_by_factor = clip::by_norm || std::is_same_v<clip, no_clip>;
  if constexpr (std::is_same_v<typename recipe_type::replicas_type, one_replica>)
    sheet.replicas = 1;
  else if constexpr (!is_in_process_v<typename recipe_type::replicas_type>)
    sheet.replicas = policies.replicas.members();
  if constexpr (requires { policies.replicas.spent(); }) sheet.spent = policies.replicas.spent();
  return sheet;
}

}  // namespace accrue
#endif

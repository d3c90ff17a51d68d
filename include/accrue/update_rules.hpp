// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_UPDATE_RULES_HPP
#define ACCRUE_UPDATE_RULES_HPP

#include <accrue/core/run_clock.hpp>
#include <accrue/passes/apply.hpp>
#include <accrue/passes/buffer_views.hpp>
#include <accrue/update/per_group.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace accrue {

namespace detail {

/// The rules of the slot update, one for each parameter group, as they are launched and as they are called.
template <class Update>
struct rule_tuple {
  static constexpr std::size_t size = 1;
  static auto of(Update const& update) { return std::tuple<Update const&>(update); }
};
template <class... Rules>
struct rule_tuple<per_group<Rules...>> {
  static constexpr std::size_t size = sizeof...(Rules);
  static auto const& of(per_group<Rules...> const& update) { return update.rules(); }
};

template <class Rule>
inline constexpr bool rule_goes_by_data = clocked_update_policy<Rule>;
template <class Rule>
  requires requires { Rule::goes_by_data; }
inline constexpr bool rule_goes_by_data<Rule> = Rule::goes_by_data;

template <class Rule>
[[nodiscard]] auto device_part_of(Rule const& rule, [[maybe_unused]] run_clock const& clock) {
  if constexpr (clocked_update_policy<Rule>) {
    return rule.device_part(clock);
  } else if constexpr (host_update_policy<Rule>) {
    return rule.device_part();
  } else {
    return rule;
  }
}
template <class Rule>
[[nodiscard]] auto listed(Rule rule) {
  int const kept = rule.state_words();
  return rule_list<Rule>{std::move(rule), kept};
}
template <class Rule, class Next, class... Rest>
[[nodiscard]] auto listed(Rule rule, Next next, Rest... rest) {
  int const kept = rule.state_words();
  return rule_list<Rule, Next, Rest...>{std::move(rule), listed(std::move(next), std::move(rest)...), kept};
}

}  // namespace detail

/// The rules of an accumulator: how many, what state they keep, what is launched.
template <class Update, class Set>
struct update_rules {
  using tuple = detail::rule_tuple<Update>;
  static constexpr bool given = !std::is_same_v<Update, no_update>;
  static constexpr bool fits = tuple::size == Set::group_count || !is_per_group_v<Update>;

  static constexpr bool calls_host = []<class... Rules>(std::type_identity<std::tuple<Rules...>>) {
    return (host_update_policy<std::remove_cvref_t<Rules>> || ...);
  }(std::type_identity<std::remove_cvref_t<decltype(tuple::of(std::declval<Update const&>()))>>{});

  /// Whether some rule depends on the samples or tokens of the run; one that does not say so may.
  static constexpr bool goes_by_data = []<class... Rules>(std::type_identity<std::tuple<Rules...>>) {
    return (detail::rule_goes_by_data<std::remove_cvref_t<Rules>> || ...);
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

  /// What a call on the host wants to know of a group that is closed by then.
  template <class Model, class Exec>
  [[nodiscard]] static std::vector<bool> touched_for_host(Model const& model, [[maybe_unused]] Exec const& exec) {
    if constexpr (calls_host)
      return model.touched_views(exec);
    else
      return {};
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
    return std::apply([](auto const&... rule) { return std::max({detail::device_part_of(rule, {}).state_words()...}); },
                      tuple::of(update));
  }
  /// One rule for all groups stands in the list once; the list hands it to every group.
  [[nodiscard]] static auto on_device(Update const& update, run_clock const& clock) {
    return std::apply([&](auto const&... rule) { return detail::listed(detail::device_part_of(rule, clock)...); },
                      tuple::of(update));
  }

  using device_rules = decltype(on_device(std::declval<Update const&>(), run_clock{}));

 private:
  template <std::size_t Group, class Rule, class Model, class Exec>
  static void call_one(Rule const& rule, Model const& model, Exec const& exec, std::vector<bool> const& touched,
                       device_record const& found) {
    if constexpr (host_update_policy<Rule>) {
      if constexpr (is_per_group_v<Update>)
        rule.call(finalized_of<Group, Group + 1>(model, exec, touched, found));
      else
        rule.call(finalized_of<0, Set::group_count>(model, exec, touched, found));
    }
  }
};

}  // namespace accrue
#endif

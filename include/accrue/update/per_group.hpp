// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_UPDATE_PER_GROUP_HPP
#define ACCRUE_UPDATE_PER_GROUP_HPP

#include <accrue/update/update_policy.hpp>

#include <tuple>
#include <utility>

namespace accrue {

/// One rule for each set in `parameter_groups(...)`, in the same order; one norm and one decision for all.
template <class... Rules>
class per_group {
 public:
  using fills = slot::update;
  static constexpr std::string_view name = "per_group";

  explicit per_group(Rules... rules) : rules_(std::move(rules)...) {}

  [[nodiscard]] std::tuple<Rules...> const& rules() const { return rules_; }
  void validate() const {
    std::apply([](auto const&... rule) { (accrue::validate(rule), ...); }, rules_);
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    std::apply([&](auto const&... rule) { (visit("rule", rule), ...); }, rules_);
  }
  template <class Visit>
  void change_settings(Visit&& visit) {
    std::apply([&](auto&... rule) { (accrue::change_settings(rule, visit), ...); }, rules_);
  }
  friend bool operator==(per_group const&, per_group const&) = default;

 private:
  std::tuple<Rules...> rules_;
};
template <class... Rules>
per_group(Rules...) -> per_group<Rules...>;

template <class T>
inline constexpr bool is_per_group_v = false;
template <class... Rules>
inline constexpr bool is_per_group_v<per_group<Rules...>> = true;

namespace detail {
template <class T>
inline constexpr bool holds_rules_v = false;
template <class... Rules>
inline constexpr bool holds_rules_v<per_group<Rules...>> = ((update_policy<Rules> || host_update_policy<Rules> ||
                                                             clocked_update_policy<Rules>)&&...);
}  // namespace detail

/// A `per_group` whose arguments are all update policies.
template <class T>
concept per_group_of_rules = detail::holds_rules_v<T>;

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_UPDATE_TOGETHER_HPP
#define ACCRUE_UPDATE_TOGETHER_HPP

#include <accrue/accumulator.hpp>
#include <accrue/core/diagnostics.hpp>
#include <accrue/core/error.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace accrue {

namespace detail {

/// Whether it is an accumulator that has an update policy, and no other replicas.
template <class T>
inline constexpr bool has_update_v = false;
template <class Exec, class Set, class... Policies>
inline constexpr bool has_update_v<accumulator<Exec, Set, Policies...>> =
    times_filled<slot::update, Policies...> > 0 &&
    std::is_same_v<policy_for_t<slot::replicas, one_replica, Policies...>, one_replica>;

template <class... Groups>
inline constexpr bool close_together_v = false;
template <class First, class... Groups>
  requires(has_update_v<First> && (has_update_v<Groups> && ...))
inline constexpr bool close_together_v<First, Groups...> =
    sizeof...(Groups) < most_together && (std::is_same_v<typename First::handle, typename Groups::handle> && ...);

/// What is known of an accumulator that closes together with others.
struct participant {
  void const* itself = nullptr;
  void const* scale = nullptr;
  bool open = false;                       ///< it holds a group
  bool closes = false;                     ///< that has something to update
  group_verdict const* verdict = nullptr;  ///< then, on the device
  bool vetoed = false;                     ///< then, by a predicate on the host
};

}  // namespace detail

/// What `update_together` does with the stages of its accumulators.
struct closing_together {
  template <class First, class... Groups>
  static auto run(First& first, Groups&... groups) {
    constexpr std::size_t count = 1 + sizeof...(Groups);
    std::array<detail::participant, count> all{look(first), look(groups)...};
    refuse_twice(all);
    refuse_others(all, first, 0);
    std::size_t i = 0;
    (refuse_others(all, groups, ++i), ...);

    i = 0;
    give_verdict(first, all[0]);
    (give_verdict(groups, all[++i]), ...);
    wait_for_all(first, groups...);

    i = 0;
    if (all[0].closes) first.stages_.announce_closing();
    ((all[++i].closes ? groups.stages_.announce_closing() : void()), ...);

    // From here on all of them close, whatever a function of the user throws.
    std::exception_ptr thrown;
    std::array<std::optional<typename First::handle>, count> closed;
    auto const close_one = [&](auto& group, std::size_t mine) {
      companions const together = companions_of(all, mine);
      if (mine > 0 && together.changes_scale) wait_for_all(first, groups...);  // who reads the scale has read it
      try {
        closed[mine] = all[mine].closes ? group.stages_.close_with(group.exec(), together, all[mine].vetoed)
                                        : group.stages_.close_empty(group.exec());
      } catch (...) {
        if (!thrown) thrown = std::current_exception();
      }
    };
    i = 0;
    close_one(first, 0);
    (close_one(groups, ++i), ...);
    wait_for_all(first, groups...);  // every verdict is read, and the scale is what it will be
    if (thrown) std::rethrow_exception(thrown);
    i = 0;
    if (all[0].closes) first.stages_.stop_where_asked();
    ((all[++i].closes ? groups.stages_.stop_where_asked() : void()), ...);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<typename First::handle, count>{*closed[I]...};
    }
    (std::make_index_sequence<count>{});
  }

 private:
  template <class Group>
  static detail::participant look(Group& group) {
    auto& stages = group.stages_;
    bool const closes = stages.prepare(stages.exec());
    return {.itself = &group, .scale = stages.scale_identity(), .open = stages.held().value() > 0, .closes = closes};
  }
  template <std::size_t Count>
  static void refuse_twice(std::array<detail::participant, Count> const& all) {
    for (std::size_t i = 0; i < Count; ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (all[i].itself == all[j].itself)
          throw error("accrue::update_together: an accumulator is given twice", "its group would be closed twice",
                      "give each once");
  }
  template <std::size_t Count, class Group>
  static void refuse_others(std::array<detail::participant, Count> const& all, Group& group, std::size_t mine) {
    int open = 0;
    for (auto const& each : all) open += each.open && each.scale == all[mine].scale ? 1 : 0;
    group.stages_.require_scale_of(open);
  }
  template <class Group>
  static void give_verdict(Group& group, detail::participant& mine) {
    if (!mine.closes) return;
    mine.vetoed = group.stages_.give_verdict(group.exec());
    mine.verdict = group.stages_.verdict();
  }
  /// Whatever comes on one of the instances sees what was launched on all of them.
  template <class First, class... Groups>
  static void wait_for_all(First const& first, Groups const&... groups) {
    if (((groups.exec() == first.exec()) && ...)) return;
    std::string const label = "accrue::update_together: accumulators on several instances";
    first.exec().fence(label);
    (groups.exec().fence(label), ...);
  }
  template <std::size_t Count>
  static companions companions_of(std::array<detail::participant, Count> const& all, std::size_t mine) {
    companions together;
    for (std::size_t i = 0; i < Count; ++i) {
      if (i == mine || !all[i].closes) continue;
      together.verdicts[together.count++] = all[i].verdict;
      if (i > mine && all[i].scale == all[mine].scale) together.changes_scale = false;
    }
    return together;
  }
};

/// Closes the groups of several accumulators with one decision: if one is not finite, or vetoed, none is applied. A
/// loss scale that they share changes once.
///
/// Order: as `update()` of each; observers too. Guarantee: groups that are empty close as such and do not take part.
/// Returns an array of handles in the order of the arguments. Cost: one more small launch for each; a fence between
/// accumulators on different instances, more than once. What a function of the user throws, such as that of
/// `with_gradient`, is thrown on after all are closed. Failure: `accrue::error` for an accumulator that is given twice,
/// or while other groups are open under the same scale; nothing is changed then. Example: `auto [generator_done,
/// critic_done] = accrue::update_together(generator, critic);`
template <class First, class... Groups>
auto update_together(First& first, Groups&... groups) {
  constexpr bool fits = detail::close_together_v<First, Groups...>;
  static_assert(fits, ACCRUE_SAY_NOT_TOGETHER);
  if constexpr (fits) return closing_together::run(first, groups...);
}

}  // namespace accrue
#endif

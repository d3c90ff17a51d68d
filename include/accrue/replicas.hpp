// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_REPLICAS_HPP
#define ACCRUE_REPLICAS_HPP

#include <accrue/accumulator.hpp>
#include <accrue/closing_over_replicas.hpp>
#include <accrue/core/diagnostics.hpp>
#include <accrue/reduce/in_process_replicas.hpp>

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace accrue {

namespace detail {
template <class T>
inline constexpr bool is_replica_v = false;
template <class Exec, class Set, class... Policies>
inline constexpr bool is_replica_v<accumulator<Exec, Set, Policies...>> =
    times_filled<slot::update, Policies...> > 0 &&
    replica_transport<policy_for_t<slot::replicas, one_replica, Policies...>> &&
    !shards_v<policy_for_t<slot::replicas, one_replica, Policies...>>;  // those are one a process
}  // namespace detail

/// What `update_replicas` does with the stages of its accumulators.
struct closing_of_replicas {
  /// Where the parameters of a replica lie.
  template <class Group>
  [[nodiscard]] static view_directory const& directory_of(Group const& group) {
    return group.stages_.directory();
  }

  template <class Group>
  [[nodiscard]] static auto& stages_of(Group& group) {
    return group.stages_;
  }
  template <class Group>
  static void tell_data_ended(Group& group) {
    group.tell_data_ended();
  }
  /// One group, as far as the replicas fill it.
  template <class Exec, class Set, class... Policies>
  static auto run_once(std::vector<accumulator<Exec, Set, Policies...>*> const& replicas, bool ended,
                       refill_wish const& wish) {
    using closing = typename accumulator<Exec, Set, Policies...>::closing;
    std::vector<typename closing::replica> hosted;
    hosted.reserve(replicas.size());
    for (auto* each : replicas) hosted.push_back({each->stages_, each->exec()});
    return closing::run(hosted, ended, wish);
  }

  template <class Exec, class Set, class... Policies>
  static auto run(std::vector<accumulator<Exec, Set, Policies...>*> const& replicas, bool ended) {
    using closing = typename accumulator<Exec, Set, Policies...>::closing;
    for (std::size_t i = 0; i < replicas.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (replicas[i] == replicas[j])
          throw error("accrue::update_replicas: an accumulator is given twice", "its sums would be counted twice",
                      "give each once");
    if (replicas.empty())
      throw error("accrue::update_replicas: no accumulator is given", "there is nothing to close", "give all of them");
    std::vector<typename closing::replica> hosted;
    hosted.reserve(replicas.size());
    for (auto* each : replicas) hosted.push_back({each->stages_, each->exec()});
    auto done = closing::run(hosted, ended);
    while (ended && !done.all_ended) {  // others go on
      auto next = closing::run(hosted, ended);
      if (!next.closed_something) std::swap(next.closed, done.closed);
      done = std::move(next);
    }
    if (ended)
      for (auto* each : replicas) each->tell_data_ended();
    return done.closed;
  }
};

/// Closes one group over several accumulators of this process, which are replicas of one model: their sums become one,
/// and each makes the same update of its own parameters. With a transport to other processes, over theirs as well.
///
/// Order: as `update()` of each; those that hold nothing take part. Guarantee: one decision for all. Returns the
/// handles in their order. Cost: each waits for the others. Failure: `accrue::error` where they do not agree on recipe,
/// shapes, number of the group or loss scale, with all groups still open. Example: `accrue::update_replicas(first,
/// second);`
template <class First, class... Others>
auto update_replicas(First& first, Others&... others) {
  constexpr bool fits = detail::is_replica_v<First> && (std::is_same_v<First, Others> && ...);
  static_assert(fits, ACCRUE_SAY_NOT_REPLICAS);
  if constexpr (fits) return closing_of_replicas::run(std::vector<First*>{&first, &others...}, false);
}
/// The same for a list of any length.
template <class Replica>
  requires(detail::is_replica_v<Replica>)
auto update_replicas(std::vector<Replica>& replicas) {
  std::vector<Replica*> all;
  all.reserve(replicas.size());
  for (Replica& each : replicas) all.push_back(&each);
  return closing_of_replicas::run(all, false);
}

/// What `end_of_data()` is for one: applies the last-group policy to the groups of several replicas of this process.
template <class First, class... Others>
auto end_of_data_of_replicas(First& first, Others&... others) {
  constexpr bool fits = detail::is_replica_v<First> && (std::is_same_v<First, Others> && ...);
  static_assert(fits, ACCRUE_SAY_NOT_REPLICAS);
  if constexpr (fits) return closing_of_replicas::run(std::vector<First*>{&first, &others...}, true);
}
template <class Replica>
  requires(detail::is_replica_v<Replica>)
auto end_of_data_of_replicas(std::vector<Replica>& replicas) {
  std::vector<Replica*> all;
  all.reserve(replicas.size());
  for (Replica& each : replicas) all.push_back(&each);
  return closing_of_replicas::run(all, true);
}

}  // namespace accrue
#endif

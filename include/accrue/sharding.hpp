// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_SHARDING_HPP
#define ACCRUE_SHARDING_HPP

#include <accrue/core/replica_report.hpp>
#include <accrue/pipeline.hpp>
#include <accrue/replica_side.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace accrue {

/// What a member of `sharded` replicas says before a microbatch or its state goes over.
struct shard_call {
  replica_agreement agrees{};
  bool brings = false;  ///< a microbatch; else it is closing its group
  bool saves = false;   ///< its state, between groups
  template <class Visit>
  void state(Visit&& visit) {
    visit(agrees, brings, saves);
  }
};

/// Adds microbatches to sums that are sharded over replicas: one of each member at a time, until all close the group.
template <class Exec, class Recipe, class Set>
class sharding {
  using stages = filling<Exec, Recipe, Set>;

 public:
  /// Adds the microbatch that was checked last with those that the others bring; nothing of one that is `ignored`.
  ///
  /// Failure: `accrue::error` on every member where one does not agree, with nothing changed; of the transport, with
  /// the group discarded.
  template <class Contribution>
  static void add(stages& group, Exec const& exec, Contribution const&, microbatch_weight const& by, bool ignored) {
    require_agreement(group, {.brings = true});
    exchange_or_discard(group, exec, [&](auto& exchange, auto const& transport) {
      if (ignored)
        group.sums_.take_of_others(exec, exchange, transport);
      else
        group.sums_.template take_with_others<Contribution>(exec, exchange, transport, by);
    });
  }
  /// Takes part in the microbatches of others until all of them close.
  static void finish(stages& group, Exec const& exec) {
    group.require_alive();
    while (require_agreement(group, {}))
      exchange_or_discard(group, exec, [&](auto& exchange, auto const& transport) {
        group.sums_.take_of_others(exec, exchange, transport);
      });
  }
  /// Failure: `accrue::error` on every member where one does something else.
  static void require_all_save(stages& group) { require_agreement(group, {.saves = true}); }

 private:
  template <class Exchange>
  static void exchange_or_discard(stages& group, Exec const& exec, Exchange const& exchange) {
    try {
      exchange(group.replica_side_.exchange(), group.policies_.replicas);
    } catch (...) {  // the sums are no longer those of all
      static_cast<void>(group.close_known(exec, outcome::discarded));
      throw;
    }
  }
  /// Whether some member brings a microbatch.
  static bool require_agreement(stages& group, shard_call mine) {
    auto& side = group.replica_side_;
    mine.agrees.recipe = side.recipe(group.policies_);
    mine.agrees.shapes = side.shapes();
    mine.agrees.views = static_cast<std::int64_t>(group.directory().size());
    mine.agrees.number = group.book_.totals().groups_over_replicas() + 1;
    std::vector<shard_call> const all = gathered(group.policies_.replicas, mine);
    bool any = false;
    for (std::size_t m = 0; m < all.size(); ++m) {
      std::string const difference = all[m].agrees.difference(all.front().agrees);
      if (!difference.empty())
        throw error(joined({"accrue: replica ", std::to_string(m), " ", difference}),
                    "their sums would not be those of one group",
                    "construct all replicas alike, and close the same groups on each");
      if (all[m].saves != all.front().saves)
        throw error(joined({"accrue: replica ", std::to_string(m), all[m].saves ? " saves" : " does not save",
                            " its state, and replica 0 ", all.front().saves ? "does" : "does not"}),
                    "each keeps a part of it",
                    "call save() on all of them at the same place, or take_part_in_save() where nothing is written");
      any = any || all[m].brings;
    }
    return any;
  }
};

}  // namespace accrue
#endif

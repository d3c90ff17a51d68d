// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CLOSING_OVER_REPLICAS_HPP
#define ACCRUE_CLOSING_OVER_REPLICAS_HPP

#include <accrue/core/replica_report.hpp>
#include <accrue/decision_over_replicas.hpp>
#include <accrue/pipeline.hpp>
#include <accrue/replica_reports.hpp>
#include <accrue/replica_side.hpp>
#include <accrue/sharding.hpp>
#include <accrue/sums_over_replicas.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace accrue {

/// Closes one group over the replicas of this process and those of other members: two small exchanges and one sum
/// between them.
///
/// First each member says what its replicas hold, and all of them find out whether they agree and what becomes of the
/// group. Then the sums become one. Last each says what it found in it, and the finding of the first member, with
/// everybody's objections, is what all of them decide by.
template <class Exec, class Recipe, class Set>
class closing_over_replicas {
  using stages = pipeline<Exec, Recipe, Set>;
  using group_type = typename stages::group_type;
  using handle = typename stages::handle;
  using last_group = typename Recipe::last_group_type;
  using transport_type = typename Recipe::replicas_type;
  static constexpr bool has_terms = has_terms_v<typename Recipe::normalization_type>;
  static constexpr bool rejects = Recipe::non_finite_type::rejects;

 public:
  using replica = hosted_replica<Exec, Recipe, Set>;
  struct result {
    std::vector<handle> closed;  ///< one for each
    bool all_ended;
    bool closed_something;
    std::int64_t refill = 0;  ///< nothing was closed: fill the group again, in microbatches of at most so many samples
  };

  /// One group. `ended`: the replicas of this process have no more data.
  static result run(std::vector<replica> const& hosted, bool ended, refill_wish const& wish = {}) {
    if constexpr (shards_v<transport_type>)
      sharding<Exec, Recipe, Set>::finish(hosted.front().group, hosted.front().exec);
    closing_over_replicas closing(hosted, ended, wish);
    return closing.close();
  }

 private:
  /// What becomes of a group.
  enum class fate { nothing, empty, update, drop, carry };

  closing_over_replicas(std::vector<replica> const& hosted, bool ended, refill_wish const& wish)
      : hosted_(hosted), first_(hosted.front().group), reports_(hosted, ended, wish) {}

  result close() {
    auto const& transport = first_.policies_.replicas;
    result done{{}, reports_.all_ended(), false};
    if (is_refilled()) {
      for (auto const& [group, exec] : hosted_) done.closed.push_back(group.book_.nothing_closed(exec, outcome::empty));
      done.refill = reports_.whole().refill.microbatch;
      return done;
    }
    fate const what = fate_of_group();
    if (what == fate::nothing || what == fate::carry) {
      for (auto const& [group, exec] : hosted_) {
        if (what == fate::carry) group.book_.totals().book_carried();
        done.closed.push_back(
            group.book_.nothing_closed(exec, what == fate::carry ? outcome::carried : outcome::empty));
      }
      return done;
    }
    done.closed_something = true;
    if (what == fate::update) check_closing();
    for (std::size_t i = 0; i < hosted_.size(); ++i) take_whole(hosted_[i].group, reports_.own(i));
    if (what == fate::update) announce();
    try {
      if (what == fate::update)
        update(transport, done);
      else
        for (auto const& [group, exec] : hosted_)
          done.closed.push_back(group.close_known(exec, what == fate::drop ? outcome::dropped_last : outcome::empty));
    } catch (...) {  // of a transport, or of a function of the user: the sums are no longer those of this replica
      for (std::size_t i = done.closed.size(); i < hosted_.size(); ++i) give_up(hosted_[i]);
      throw;
    }
    return done;
  }

  /// Whether the group did not fit into the memory of a replica, and all fill theirs again.
  ///
  /// Failure: `accrue::error` on every member where one cannot, with all groups still open.
  [[nodiscard]] bool is_refilled() const {
    refill_wish const& wish = reports_.whole().refill;
    if (wish.failed > 0)
      throw error(joined({"accrue: ", std::to_string(wish.failed), " of the members could not fill their group"}),
                  "the others have nothing to add theirs to", "see the error of the one that failed");
    if (wish.wanted > 0 && wish.unable > 0)
      throw error(joined({"accrue: the group did not fit into the memory of ", std::to_string(wish.wanted),
                          " of the members, and ", std::to_string(wish.unable),
                          " replicas do not know how to fill theirs again"}),
                  "all of them have to start the group again", "use accrue::fitting_microbatches on every replica");
    return wish.wanted > 0;
  }
  [[nodiscard]] fate fate_of_group() const {
    auto const& whole = reports_.whole();
    std::int64_t const held = whole.group.counts.microbatches.value();
    if (held == 0) return fate::nothing;
    if (reports_.is_short()) {
      if (last_group::action == last_group_action::drop) return fate::drop;
      if (last_group::action == last_group_action::carry && reports_.all_ended()) return fate::carry;
      if (last_group::action == last_group_action::refuse)
        throw error(joined({"accrue: the data of ", std::to_string(whole.ended), " of ", std::to_string(whole.hosted),
                            " replicas end in a group of ", std::to_string(held), " microbatches that is not full"}),
                    "the recipe says refuse_last",
                    shards_v<transport_type> ? "update(), or feed what is missing"
                                             : "update(), discard(), or feed what is missing");
    }
    // Where all was rejected the loss scale has to know; what partners touched, this one does not know.
    bool const goes_on = rejects || has_partners<transport_type> || reports_.touched().any();
    return whole.group.contributed > 0 && goes_on ? fate::update : fate::empty;
  }
  /// Tells observers; if one of them throws, all groups are open as they were.
  void announce() {
    try {
      for (auto const& [group, exec] : hosted_) group.announce_closing();
    } catch (...) {
      for (std::size_t i = 0; i < hosted_.size(); ++i) {
        hosted_[i].group.group_ = reports_.own(i);
        hosted_[i].group.own_.reset();
      }
      throw;
    }
  }
  /// Discards a group whose sums are lost.
  static void give_up(replica const& which) noexcept {
    auto const& [group, exec] = which;
    try {
      if constexpr (overlaps_v<transport_type>) {  // workers of pieces that were not measured are not awaited any more
        group_scalars numbers = group.sums_.scalars().read(exec, "accrue::reduce: read before a group is given up");
        numbers.workers_gone = 0;
        group.sums_.scalars().write(exec, &numbers);
        exec.fence("accrue::reduce: a group is given up");
      }
      static_cast<void>(group.close_known(exec, outcome::discarded));
    } catch (...) {
      group.open_next();
    }
  }

  /// Failure: `accrue::error` where the weight of all is not the one that was announced, or contributions are too many.
  void check_closing() const {
    auto const& group = reports_.whole().group;
    group_divisors<Recipe, group_type>(first_.policies_, group).check_closing();
    std::int64_t products = group.contributed;
    if constexpr (has_terms) products *= static_cast<std::int64_t>(group_type::size);
    refuse_too_many<typename Recipe::summation_type>(products);
  }

  /// From here on the open group of a replica is that of all of them.
  void take_whole(stages& group, group_type const& own) {
    group.own_ = own.counts;
    group.group_ = reports_.whole().group;
    if constexpr (has_terms) group.group_.combine(group.divisors().factors());
  }

  void update(auto const& transport, result& done) {
    bool const measured = sums_over_replicas<Exec, Recipe, Set>(hosted_, reports_).form(transport);

    double divided = first_.divisors().weight();
    bool pads = false;
    if constexpr (pads_weight<last_group>) {
      pads = reports_.is_short();
      if (pads)
        divided =
            first_.policies_.last_group.padded_weight(divided, first_.held(), microbatches{reports_.whole().wanted});
    }
    bool const applies =
        decision_over_replicas<Exec, Recipe, Set>(hosted_, reports_, measured).make(transport, divided, pads);

    std::exception_ptr thrown;
    for (auto const& [group, exec] : hosted_) {
      try {
        group.sums_.note_measured(true);
        companions decided;
        decided.verdicts[0] = group.verdict();
        decided.count = 1;
        done.closed.push_back(group.attempt(exec, divided, pads, decided, false));
      } catch (...) {  // of a function of the user: the group is closed, here as on the others
        if (!thrown) thrown = std::current_exception();
        done.closed.push_back(group.book_.nothing_closed(exec, outcome::applied));
      }
    }
    if constexpr (shards_v<transport_type>) {
      if (applies)
        first_.replica_side_.exchange().gather_parameters(transport, hosted_.front().exec, first_.sums_.model());
    }
    if (thrown) std::rethrow_exception(thrown);
    for (auto const& [group, exec] : hosted_) group.stop_where_asked();
  }

  std::vector<replica> const& hosted_;
  stages& first_;
  replica_reports<Exec, Recipe, Set> reports_;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FILLING_HPP
#define ACCRUE_FILLING_HPP

#include <accrue/accumulator_state.hpp>
#include <accrue/term_microbatch.hpp>

#include <Kokkos_Core.hpp>
#include <optional>
#include <type_traits>
#include <utility>

namespace accrue {

/// Adds microbatches to sums that are sharded over replicas, see sharding.hpp.
template <class Exec, class Recipe, class Set>
class sharding;

/// The stages of one accumulator up to the full group: gate and sum. Closing it is the pipeline's.
///
/// Guarantee: a call that throws has changed nothing.
template <class Exec, class Recipe, class Set>
class filling : public accumulator_state<Exec, Recipe, Set> {
 protected:
  using base = accumulator_state<Exec, Recipe, Set>;
  using base::alone;
  using base::book_;
  using base::close_known;
  using base::divisors;
  using base::exec_;
  using base::group_;
  using base::has_terms;
  using base::let_through;
  using base::open_next;
  using base::policies_;
  using base::rejects;
  using base::require_alive;
  using base::scale_;
  using base::shards;
  using base::sums_;
  using typename base::boundary_type;
  using typename base::group_type;
  using typename base::normalization;
  using typename base::objective;
  using typename base::rules;
  using typename base::sums_type;
  /// The pass of the last microbatch measures the norm; where there are other replicas, theirs are still to come.
  static constexpr bool may_measure_last = rules::given && alone;

 public:
  using base::base;
  using base::full;
  using base::held;

  /// Views for the next microbatch.
  [[nodiscard]] auto lend() {
    require_alive();
    require_room();
    return sums_.lend(exec_, policies_.clip);
  }

  /// Adds one microbatch, whose types were checked. Returns what was adopted before, where this is adopted.
  template <class Contribution, class... Facts>
  auto add(Exec const& exec, Contribution const& gradient, Facts const&... fact) {
    require_alive();
    require_room();
    microbatch_facts facts;
    (facts.take(fact), ...);
    auto admitted = admit<normalization, objective, arrives_reduced_v<typename Recipe::replicas_type>>(
        facts, Contribution::is_mean);
    sums_.check(exec, policies_.clip, gradient);
    (refuse_bad_loss(fact), ...);
    auto next = group_;
    next.add(facts, admitted.count, admitted.ignored);
    refuse_too_many<typename Recipe::summation_type>(next.contributed);
    double const shrink = divisors().divide(admitted.by, next.total());
    group_counts const totals = book_.totals().with(facts, admitted.ignored);

    auto const enter = [&] {
      if (!admitted.ignored)
        (add_loss_of<rejects>(exec, sums_.scalars(), next.loss, fact, static_cast<double>(admitted.count)), ...);
      group_ = next;
      scale_.open();
      book_.totals().book_microbatch(totals);
      if constexpr (rejects) {
        if (!admitted.ignored) note_gate(exec);
      }
      book_.observers().microbatch_accumulated(group_.counts);
    };
    if constexpr (is_adopted_v<Contribution>) {
      if (!admitted.ignored) sums_.shrink(shrink);
      auto before = admitted.ignored ? std::nullopt : sums_.adopt(gradient, admitted.by);
      enter();
      return admitted.ignored ? gradient.give_back() : std::move(before);
    } else if constexpr (shards) {
      sharding<Exec, Recipe, Set>::add(*this, exec, gradient, admitted.by, admitted.ignored);
      enter();
    } else {
      if (!admitted.ignored) {
        if constexpr (rejects) announce(facts, admitted.count, totals, fact...);
        sums_.shrink(shrink);
        take(exec, gradient, admitted.by,
             may_measure_last && (facts.last || policies_.boundary.full(let_through(next))));
      }
      enter();
    }
  }

  /// Adds one microbatch of a recipe with named terms: gradients `of` terms and facts, whose types were checked.
  template <class... Given>
  void add_terms(Exec const& exec, Given const&... given) {
    require_alive();
    require_room();
    auto next = group_;
    term_microbatch<Recipe, sums_type, group_type> microbatch(exec, policies_, sums_, next, given...);
    refuse_too_many<typename Recipe::summation_type>(next.contributed * static_cast<std::int64_t>(group_type::size));
    group_counts const totals = book_.totals().with(microbatch.facts(), microbatch.ignored());
    bool const last = may_measure_last && (microbatch.facts().last || policies_.boundary.full(next.counts));
    try {
      microbatch.enter(exec, policies_, sums_, next, last, given...);
    } catch (...) {  // of a producer: the sums may be written in part, and other terms are in them
      break_off();
      sums_.forget();
      throw;
    }
    group_ = next;
    scale_.open();
    book_.totals().book_microbatch(totals);
    book_.observers().microbatch_accumulated(group_.counts);
  }

  void discard() {
    require_alive();
    if (shards && sums_.with_others())
      throw error("accrue::accumulator: discard() came inside a group that is sharded over replicas",
                  "its sums are those of all of them",
                  "close it with update(), with a veto if it is to change nothing");
    if (held().value() > 0) close_known(exec_, outcome::discarded);
  }

  /// Whether a group whose producer throws is started again, by whoever asks for that, or else discarded.
  void start_again_where_broken_off(bool does) { starts_again_ = does; }
  /// Begins the open group anew, as if nothing of it had come.
  void start_again() {
    require_alive();
    if (held().value() == 0) return;
    auto const before = group_.counts;
    bool const left_out = rejects && sums_.looked();
    book_.take_back(before, left_out ? &sums_.scalars().data()->gate : nullptr);
    open_next();
    book_.observers().group_started_again(before);
  }

 private:
  bool starts_again_ = false;

  void break_off() { starts_again_ ? start_again() : discard(); }

  template <class, class, class>
  friend class restart_state;
  template <class, class, class>
  friend class closing_over_replicas;
  template <class, class, class>
  friend class replica_reports;
  template <class, class, class>
  friend class sharding;
  template <class, class, class>
  friend class sums_over_replicas;
  template <class, class, class>
  friend class decision_over_replicas;

  void require_room() const {
    if (full())
      throw error("accrue::accumulator: the group is full", "another microbatch would change its update",
                  "call update() when full() is true");
  }

  template <class Contribution>
  void take(Exec const& exec, Contribution const& gradient, microbatch_weight const& by, bool last) {
    if constexpr (is_written_v<Contribution>) {
      try {
        sums_.take(exec, policies_.clip, gradient, by, last);
      } catch (...) {  // the sums may be written in part
        break_off();
        throw;
      }
    } else {
      sums_.take(exec, policies_.clip, gradient, by, last);
    }
  }

  /// Before a microbatch that may be rejected: what would be left out.
  template <class Count, class... Facts>
  void announce(microbatch_facts const& facts, Count count, group_counts const& totals, Facts const&... fact) {
    auto next = microbatch_entry::of(facts, count);
    next.number = totals.microbatches.value();
    next.group = book_.next_number();
    sums_.announce(next);
    auto const hand_over = [&]<class Fact>(Fact const& each) {
      if constexpr (std::is_same_v<Fact, sample_ids>) this->book_.hand_over_ids(next.number, each.data, each.size);
    };
    (hand_over(fact), ...);
  }
  /// After it. A boundary that goes by what was let through has to know. Fences then.
  void note_gate(Exec const& exec) {
    book_.may_be_rejected(exec);
    constexpr bool counts_microbatches =
        std::is_same_v<boundary_type, user_closes> || requires(boundary_type const& b) {
      b.microbatches();
    };
    if constexpr (!counts_microbatches)
      group_.rejected =
          sums_.scalars().read(exec, "accrue::accumulate: read what was rejected").gate.rejected.checked();
  }
};

}  // namespace accrue
#endif

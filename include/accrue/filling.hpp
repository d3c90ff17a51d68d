// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FILLING_HPP
#define ACCRUE_FILLING_HPP

#include <accrue/core/open_group.hpp>
#include <accrue/core/replica_transport.hpp>
#include <accrue/core/scale_cell.hpp>
#include <accrue/core/shard.hpp>
#include <accrue/finalize/shared_scale.hpp>
#include <accrue/group_divisors.hpp>
#include <accrue/group_sums.hpp>
#include <accrue/ledger/group_book.hpp>
#include <accrue/recipe.hpp>
#include <accrue/term_microbatch.hpp>
#include <accrue/term_sums.hpp>
#include <accrue/update_check.hpp>
#include <accrue/update_rules.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

namespace accrue {

/// What an accumulator needs for other replicas: nothing where there are none; else see replica_side.hpp.
template <class Exec, class Model, class Recipe, bool Alone>
class replica_side;
template <class Exec, class Model, class Recipe>
class replica_side<Exec, Model, Recipe, true> {
 public:
  template <class Replicas>
  replica_side(Exec const&, Model&, Replicas const&) {}
};

/// Adds microbatches to sums that are sharded over replicas, see sharding.hpp.
template <class Exec, class Recipe, class Set>
class sharding;

/// The stages of one accumulator up to the full group: gate and sum. Closing it is the pipeline's.
///
/// Guarantee: a call that throws has changed nothing.
template <class Exec, class Recipe, class Set>
class filling {
 protected:
  using rules = update_rules<typename Recipe::update_type, Set>;
  using objective = typename Recipe::objective_type;
  using normalization = typename Recipe::normalization_type;
  static constexpr bool has_terms = has_terms_v<normalization>;
  using group_type = open_group_under<normalization, total_of<typename Recipe::summation_type>>;
  using sums_type = std::conditional_t<has_terms, term_sums<Exec, Recipe, Set>, group_sums<Exec, Recipe, Set>>;
  using loss_scale = typename Recipe::loss_scale_type;
  using scaling = detail::scaling_of<loss_scale>;
  using boundary_type = typename Recipe::boundary_type;
  static constexpr bool scales = loss_scale::scales;
  static constexpr bool rejects = Recipe::non_finite_type::rejects;
  static constexpr bool alone = std::is_same_v<typename Recipe::replicas_type, one_replica>;
  static constexpr bool shards = shards_v<typename Recipe::replicas_type>;
  /// The pass of the last microbatch measures the norm; where there are other replicas, theirs are still to come.
  static constexpr bool may_measure_last = rules::given && alone;

 public:
  using handle = update_handle<Exec>;

  filling(Exec exec, Set set, Recipe const& policies)
      : policies_(policies),
        exec_(std::move(exec)),
        sums_(exec_, std::move(set), rules::state_words(policies_.update), shard_of(policies_.replicas)),
        book_(exec_, rejects),
        scale_(use_of(exec_, policies_.loss_scale)),
        replica_side_(exec_, sums_.model(), policies_.replicas) {
    if (sums_.model().directory().size() == 0)
      throw error("accrue::accumulator: there are no parameters", "an update would change nothing",
                  "pass at least one view");
    if constexpr (scales) sums_.scaled_by(&scale_.cell().data()->scale);
    if constexpr (rejects)
      sums_.reject_above(policies_.non_finite.largest_norm(), {book_.device_side(), book_.rejections(), records_kept});
  }

  [[nodiscard]] Recipe const& policies() const { return policies_; }
  [[nodiscard]] Exec const& exec() const { return exec_; }
  [[nodiscard]] microbatches held() const { return group_.counts.microbatches; }
  [[nodiscard]] group_counts const& counts_held() const { return group_.counts; }
  [[nodiscard]] bool full() const { return held().value() > 0 && policies_.boundary.full(let_through(group_)); }

  [[nodiscard]] view_directory const& directory() const { return sums_.model().directory(); }
  [[nodiscard]] group_book<Exec>& book() {
    require_alive();
    return book_;
  }
  [[nodiscard]] scale_cell<Exec> const& scale() const { return scale_.cell(); }

  template <class Rule>
  void change_rule(Rule const& rule) {
    require_alive();
    accrue::validate(rule);
    sums_.model().require_state(rules::state_words(rule));
    policies_.update = rule;
  }
  template <class Boundary>
  void change_boundary(Boundary const& boundary) {
    require_alive();
    accrue::validate(boundary);
    policies_.boundary = boundary;
  }
  /// Failure: `accrue::error` inside of a group, whose sums are divided already.
  template <class Division>
  void change_division(Division const& other) {
    require_alive();
    accrue::validate(other);
    if (held().value() > 0)
      throw error("accrue::accumulator: change_division() came inside of a group",
                  "its gradients are divided by what was said before", "change it before the first microbatch");
    policies_.division = other;
  }
  template <class LossScale>
  void change_loss_scale(LossScale const& other) {
    require_alive();
    accrue::validate(other);
    auto cell = scale_.cell();
    cell.require_no_open_group("change_loss_scale()");
    loss_scale_state const begin = other.initial_state();
    loss_scale_state now = cell.state();
    now.hysteresis_left = std::min(now.hysteresis_left, begin.hysteresis_left);
    cell.restore(begin.scale != policies_.loss_scale.initial_state().scale ? begin : now);
    policies_.loss_scale = other;
  }

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

 protected:
  void require_alive() const {
    if (sums_.model().directory().size() == 0)
      throw error("accrue::accumulator: this object was moved from", "it has no parameters",
                  "use the one it was moved to");
  }

  [[nodiscard]] group_divisors<Recipe, group_type> divisors() const { return {policies_, group_}; }

  handle close_known(Exec const& exec, outcome known) {
    if constexpr (has_terms) group_.combine(divisors().factors());
    record half = entry();
    if (group_.loss.on_device) half.loss.reset();  // nobody brings the device's half
    handle done = book_.close(exec, half, known, own_counts());
    open_next();
    return done;
  }

  /// The host's half of the open group's record; what the device found replaces the loss when it is settled.
  [[nodiscard]] record entry() const {
    record half;
    half.counts = group_.counts;
    half.weight = static_cast<double>(group_.weight);
    if constexpr (has_terms) half.take_weights(group_.weights());
    if (group_.has_loss()) half.loss = static_cast<double>(group_.loss.on_host) / divisors().of_losses();
    return half;
  }
  void open_next() {
    group_ = {};
    own_.reset();
    sums_.forget();
    scale_.close();
  }

  Recipe policies_;
  Exec exec_;
  sums_type sums_;
  group_type group_;
  group_book<Exec> book_;
  std::conditional_t<scales, scale_use<Exec>, no_scale_use> scale_;
  replica_side<Exec, typename sums_type::model_type, Recipe, alone> replica_side_;
  bool starts_again_ = false;
  std::optional<group_counts> own_;  ///< of this replica, while the open group is that of all of them

  /// What this replica handed over to a group that is closed over replicas; null for others.
  [[nodiscard]] group_counts const* own_counts() const { return own_ ? &*own_ : nullptr; }

 private:
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

  [[nodiscard]] static shard shard_of([[maybe_unused]] typename Recipe::replicas_type const& replicas) {
    if constexpr (shards)
      return {replicas.member(), replicas.members()};
    else
      return {};
  }
  [[nodiscard]] static auto use_of([[maybe_unused]] Exec const& exec, [[maybe_unused]] loss_scale const& policy) {
    if constexpr (scales)
      return scale_use<Exec>(scaling::cell(exec, policy));
    else
      return no_scale_use{};
  }
  /// The counts that a boundary goes by.
  [[nodiscard]] static group_counts let_through(group_type const& group) {
    if constexpr (rejects)
      return group.counts.without(group.rejected);
    else
      return group.counts;
  }
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
      if constexpr (std::is_same_v<Fact, sample_ids>) book_.hand_over_ids(next.number, each.data, each.size);
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

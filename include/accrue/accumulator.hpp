// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATOR_HPP
#define ACCRUE_ACCUMULATOR_HPP

#include <accrue/core/adopted.hpp>
#include <accrue/core/contribution_check.hpp>
#include <accrue/core/parameter_space.hpp>
#include <accrue/core/terms_check.hpp>
#include <accrue/pipeline.hpp>
#include <accrue/recipe.hpp>
#include <accrue/update_check.hpp>
#include <accrue/update_rules.hpp>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

namespace accrue {

/// Adds up the gradients of microbatches, and once per group makes the update of one large batch.
///
/// Order: `accumulate` any number of times, then `update`; `end_of_data` once after the last microbatch of the data.
/// Guarantee: parameters change in `update` and `end_of_data` only. A call that throws has changed nothing.
/// Cost: one pass over the gradients per microbatch, or fewer with `gather`; the pass of the last one measures norm and
/// finiteness as well where the boundary knows it, else that is one read more; one pass of the update rule. Nothing
/// fences but what says so, nothing allocates on the device after construction.
/// Failure: `accrue::error` for what the host can see; what the device finds is an outcome.
/// Example: examples/hello/hello.cpp
template <class Exec, class Set, class... Policies>
class accumulator {
  using recipe_type = recipe<Policies...>;
  using set_type = parameters_or_none<Set>;
  using rules = update_rules<typename recipe_type::update_type, set_type>;
  using last_group = typename recipe_type::last_group_type;
  using holding = typename recipe_type::holding_type;
  using summation = typename recipe_type::summation_type;
  using buffers = typename buffer_scalars<summation, set_type>::type;
  using seen_by_clip = std::conditional_t<is_on_microbatch_v<typename recipe_type::clip_type>,
                                          typename product_scalars<summation, set_type>::type, buffers>;

  static_assert(is_parameter_set_v<Set> || (view_item<Policies> || ...), ACCRUE_SAY_NOT_PARAMETERS);
  static_assert(reachable_by<Exec, Set>, ACCRUE_SAY_UNREACHABLE_PARAMETER);
  static_assert(rules::fits || !is_parameter_set_v<Set>, ACCRUE_SAY_GROUPS_AND_RULES);
  static_assert(!rules::calls_host || !has_wrapped_items_v<set_type>, ACCRUE_SAY_ROUNDING_BY_HAND);
  static constexpr bool shards = shards_v<typename recipe_type::replicas_type>;
  static_assert(!shards || !rules::calls_host, ACCRUE_SAY_SHARDED_WHOLE);

 public:
  using handle = update_handle<Exec>;

  explicit accumulator(typename std::type_identity<Set>::type parameters,
                       typename std::type_identity<Policies>::type... policies)
      : accumulator(Exec{}, std::move(parameters), std::move(policies)...) {}

  /// Runs everything on `exec`, except where a call is given an instance of its own.
  accumulator(typename std::type_identity<Exec>::type exec, typename std::type_identity<Set>::type parameters,
              typename std::type_identity<Policies>::type... policies)
      : stages_(std::move(exec), set_type(std::move(parameters)), recipe_type(policies...)) {}

  accumulator(accumulator&&) noexcept = default;
  accumulator& operator=(accumulator&&) noexcept = default;

  /// Adds one microbatch: its gradients as `mean_gradient` or `sum_gradient`, its counts, and its loss if wanted.
  ///
  /// Guarantee: when it returns the work is enqueued; the views may be overwritten on the same instance at once, or
  /// elsewhere after a fence; with `gather` once their pass is launched. A microbatch whose declared count is 0 is
  /// ignored, but counts as a microbatch. Failure: `accrue::error` for a full group, wrong extents, counts that
  /// overflow.
  template <class Contribution, class... Facts>
  void accumulate(Contribution const& gradient, Facts const&... facts) {
    accumulate(exec(), gradient, facts...);
  }
  template <class Contribution, class... Facts>
  void accumulate(Exec const& exec, Contribution const& gradient, Facts const&... facts) {
    using clip = typename recipe_type::clip_type;
    constexpr bool in_one = !shards || (!is_written_v<Contribution> && !has_rows_v<Contribution>);
    static_assert(in_one, ACCRUE_SAY_SHARDED_WHOLE);
    if constexpr (!in_one) {
    } else if constexpr (has_terms_v<typename recipe_type::normalization_type>) {
      if constexpr (terms_check<recipe_type, Exec, set_type, Contribution, Facts...>::passes())
        stages_.add_terms(exec, gradient, facts...);
    } else if constexpr (is_of_term_v<Contribution>) {
      static_assert((has_terms_v<Policies> || ...), ACCRUE_SAY_NO_TERMS);
    } else if constexpr (contribution_check<recipe_type, Exec, set_type, Contribution, Facts...>::passes() &&
                         looked_at_check<recipe_type::looks_first, Contribution>::passes() &&
                         carried_check<summation, Contribution>::passes() && clip_check<clip, seen_by_clip>::passes())
      stages_.add(exec, gradient, facts...);
  }

  /// Adds the first microbatch of a group, whose gradients are given away: they become the sums, without a pass.
  ///
  /// Order: for the first contribution of a group; its weight waits for the next pass. Guarantee: returns what was
  /// given before, if it had the same type: its group is closed, and it may be written again on the same instance.
  /// Failure: `accrue::error` for memory that others hold as well or that is not managed, that is not laid out densely
  /// as its parameter in the scalar of the sums, and for a group that has sums; nothing is changed then, and the
  /// gradient is still the caller's. Does not compile with `on_microbatch` or `reject_microbatch`, which have to look
  /// at it first. Example: `auto spare = group.adopt(accrue::mean_gradient{std::move(g)}, accrue::tokens{512});`
  template <contribution Contribution, class... Facts>
  std::optional<Contribution> adopt(Contribution&& gradient, Facts const&... facts) {
    return adopt(exec(), std::forward<Contribution>(gradient), facts...);
  }
  template <contribution Contribution, class... Facts>
  std::optional<Contribution> adopt(Exec const& exec, Contribution&& gradient, Facts const&... facts) {
    static_assert(!shards, ACCRUE_SAY_SHARDED_WHOLE);
    constexpr bool whole = is_contribution_v<Contribution> && !has_rows_v<Contribution> && !shards;
    constexpr bool unseen = !recipe_type::looks_first && !has_terms_v<typename recipe_type::normalization_type>;
    constexpr bool kept_whole = !carries_v<summation>;
    static_assert((whole && unseen) || shards, ACCRUE_SAY_NOT_ADOPTED);
    static_assert(kept_whole || !whole || !unseen, ACCRUE_SAY_ADOPTED_AND_CARRIED);
    if constexpr (whole && unseen && kept_whole &&
                  contribution_check<recipe_type, Exec, set_type, Contribution, Facts...>::passes()) {
      adopted<Contribution> given(std::forward<Contribution>(gradient));
      try {
        return stages_.add(exec, given, facts...);
      } catch (...) {
        if (given.given().use_count() == 1) gradient = std::move(*given.given());  // not in the sums
        throw;
      }
    } else {
      return std::nullopt;
    }
  }

  /// Views to write the next microbatch's gradients into, in the order of the parameters and the scalar of the buffer:
  /// hand them over with `accumulate`, ask again for the microbatch after it.
  ///
  /// Guarantee: what was lent for a microbatch that waits for its pass is not lent again before. Cost: none; the first
  /// microbatch of a group is written where its sum belongs, and needs no pass.
  /// Failure: `accrue::error` for a full group; does not compile without `gather`.
  /// Example: `auto [w, b] = group.next_gradients();`
  template <int Lent = holding::lent>
  [[nodiscard]] auto next_gradients() {
    constexpr bool lends = Lent > 0;
    static_assert(lends, ACCRUE_SAY_NOTHING_LENT);
    return stages_.lend();
  }

  /// Closes the open group by its real weight: norm, finite check, clip, rule, in this order.
  ///
  /// Guarantee: all or nothing over parameters, optimizer state and counters. With no microbatch in it nothing closes,
  /// and the outcome is `empty`.
  handle update() { return update(exec()); }
  handle update(Exec const& exec) {
    static_assert(rules::given, ACCRUE_SAY_NO_UPDATE);
    static_assert(!in_process, ACCRUE_SAY_IN_PROCESS);
    if constexpr (alone || in_process)
      return stages_.update(exec);
    else
      return closing::run({{stages_, exec}}, false).closed.front();
  }

  /// Applies the last-group policy to an open group; a full one is updated like any other, none is nothing to do.
  ///
  /// Failure: `accrue::error` under `refuse_last`, with the group still open.
  handle end_of_data() { return end_of_data(exec()); }
  handle end_of_data(Exec const& exec) {
    constexpr bool stated = !std::is_same_v<last_group, no_last_group>;
    static_assert(stated, ACCRUE_SAY_NO_LAST_GROUP);
    static_assert(rules::given || !stated, ACCRUE_SAY_NO_UPDATE);
    static_assert(!in_process, ACCRUE_SAY_IN_PROCESS);
    if constexpr (alone || in_process) {
      handle done = stages_.end_last_group(exec);
      tell_data_ended();
      return done;
    } else {
      auto done = closing::run({{stages_, exec}}, true);
      while (!done.all_ended) {  // others go on
        auto next = closing::run({{stages_, exec}}, true);
        if (!next.closed_something) std::swap(next.closed, done.closed);
        done = std::move(next);
      }
      tell_data_ended();
      return done.closed.front();
    }
  }

  /// Throws the open group away; the ledger counts what it held as dropped.
  void discard() { stages_.discard(); }

  /// Begins the open group anew: what it held is to be handed over again, and counts in the ledger as started again
  /// only.
  ///
  /// Guarantee: sums, counts, terms, losses, rejections and the loss scale are as if nothing of the group had come; not
  /// the microbatches that were carried into it, which are lost. Cost: nothing; two fences where microbatches were
  /// looked at before they were let in. Example: accrue/fitting_microbatches.hpp
  void start_again() {
    static_assert(!shards, ACCRUE_SAY_SHARDED_WHOLE);
    stages_.start_again();
  }

  /// Takes other settings of the update rule, for schedules; in force from the next update on.
  ///
  /// Failure: `accrue::error` for settings that make no sense, or that need more state than was allocated.
  template <class Rule>
  void change_rule(Rule const& rule) {
    constexpr bool same = std::is_same_v<Rule, typename recipe_type::update_type>;
    static_assert(same, ACCRUE_SAY_OTHER_RULE);
    if constexpr (same) stages_.change_rule(rule);
  }

  /// Takes another boundary of the same type, in force at once: an open group that already holds as much is full.
  template <class Boundary>
  void change_boundary(Boundary const& boundary) {
    constexpr bool same = std::is_same_v<Boundary, typename recipe_type::boundary_type>;
    static_assert(same, ACCRUE_SAY_NO_BOUNDARY);
    if constexpr (same) stages_.change_boundary(boundary);
  }

  /// The loss scale: multiply every loss of a group by it before its backward pass. Does not compile where losses are
  /// not scaled. Example: `float const scale = group.loss_scale().value();`
  template <class LossScale = typename recipe_type::loss_scale_type>
  [[nodiscard]] auto loss_scale() const {
    constexpr bool scales = LossScale::scales;
    static_assert(scales, ACCRUE_SAY_NO_LOSS_SCALE);
    if constexpr (scales) return stages_.scale();
  }

  /// Takes other settings of the loss scale, in force at once. Where the initial scale is another, it begins anew.
  ///
  /// Failure: `accrue::error` inside a group: its contributions were multiplied by the scale as it is.
  template <class LossScale>
  void change_loss_scale(LossScale const& other) {
    constexpr bool own = std::is_same_v<LossScale, typename recipe_type::loss_scale_type> && LossScale::scales &&
                         !is_shared_scale_v<LossScale>;
    static_assert(own, ACCRUE_SAY_OTHER_LOSS_SCALE);
    if constexpr (own) stages_.change_loss_scale(other);
  }

  /// Takes another division of the same type, such as the weight of the next group with `accrue::early{...}`.
  ///
  /// Failure: `accrue::error` inside of a group.
  template <class Division>
  void change_division(Division const& division) {
    constexpr bool same = std::is_same_v<Division, typename recipe_type::division_type>;
    static_assert(same, ACCRUE_SAY_OTHER_DIVISION);
    if constexpr (same) stages_.change_division(division);
  }

  /// Whether the boundary is reached: call `update()` before the next microbatch.
  [[nodiscard]] bool full() const { return stages_.full(); }
  [[nodiscard]] microbatches held() const { return stages_.held(); }
  /// What the open group holds of each count, on this replica.
  [[nodiscard]] group_counts const& counts_held() const { return stages_.counts_held(); }
  [[nodiscard]] recipe_type const& policies() const { return stages_.policies(); }
  [[nodiscard]] Exec const& exec() const { return stages_.exec(); }

  /// The totals and the last records. Cost: one fence, if groups were closed since the last call.
  [[nodiscard]] accrue::ledger const& ledger() { return stages_.book().settled(); }

  /// Adds an observer: a value, or a `std::ref` to an object that outlives the accumulator. See ledger/observer.hpp.
  ///
  /// Cost: one that wants records is served when somebody asks for the ledger, at the end of the data, and at the
  /// latest every `records_kept` groups, with a fence.
  template <class Observer>
  void observe(Observer&& watcher) {
    using kept = std::decay_t<Observer>;
    constexpr bool sees = observer<std::remove_reference_t<std::unwrap_reference_t<kept>>>;
    constexpr bool copied = std::is_constructible_v<kept, Observer&&> && std::is_move_constructible_v<kept>;
    static_assert(sees, ACCRUE_SAY_NOT_AN_OBSERVER);
    static_assert(copied || !sees, ACCRUE_SAY_OBSERVER_NOT_COPIED);
    if constexpr (sees && copied) stages_.book().observers().add(kept(std::forward<Observer>(watcher)));
  }

  /// Norm, largest modulus and finiteness of the open group's gradient as it stands, before clipping. Fences.
  [[nodiscard]] gradient_summary measure() { return measure(exec()); }
  [[nodiscard]] gradient_summary measure(Exec const& exec) {
    static_assert(!shards, ACCRUE_SAY_SHARDED_WHOLE);
    return stages_.measure(exec);
  }

  /// A copy of the I-th item's gradient as it stands, before clipping; zero where untouched. Allocates and fences.
  template <std::size_t I>
  [[nodiscard]] auto snapshot() {
    return snapshot<I>(exec());
  }
  template <std::size_t I>
  [[nodiscard]] auto snapshot(Exec const& exec) {
    static_assert(!shards, ACCRUE_SAY_SHARDED_WHOLE);
    return stages_.template snapshot<I>(exec);
  }

 private:
  void tell_data_ended() {
    observer_list const& observers = stages_.book().observers();
    if (observers.want_end() || observers.want_records()) observers.data_ended(ledger());
  }

  static constexpr bool alone = std::is_same_v<typename recipe_type::replicas_type, one_replica>;
  static constexpr bool in_process = is_in_process_v<typename recipe_type::replicas_type>;
  using closing = closing_over_replicas<Exec, recipe_type, set_type>;

  friend struct closing_together;
  friend struct closing_of_replicas;
  friend struct restart_access;

  pipeline<Exec, recipe_type, set_type> stages_;
};

template <class... Set, class... Policies>
accumulator(parameter_set<Set...>, Policies...)
    -> accumulator<default_execution_space_t<parameter_set<Set...>>, parameter_set<Set...>, Policies...>;

template <class Exec, class... Set, class... Policies>
  requires(Kokkos::is_execution_space_v<Exec>)
accumulator(Exec, parameter_set<Set...>, Policies...)
->accumulator<Exec, parameter_set<Set...>, Policies...>;

// A bare view finds a set that says so in one line.
template <view_item Bare, class... Policies>
accumulator(Bare, Policies...) -> accumulator<typename view_of_t<Bare>::execution_space, not_parameters, Policies...>;

}  // namespace accrue
#endif

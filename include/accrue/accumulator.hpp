// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATOR_HPP
#define ACCRUE_ACCUMULATOR_HPP

#include <accrue/accumulate/add_microbatch.hpp>
#include <accrue/accumulator_traits.hpp>
#include <accrue/core/device_scalars.hpp>
#include <accrue/core/open_group.hpp>
#include <accrue/finalize/summarize.hpp>
#include <accrue/ledger/ledger.hpp>
#include <accrue/ledger/observer.hpp>
#include <accrue/ledger/record_ring.hpp>
#include <accrue/passes/model.hpp>
#include <accrue/recipe.hpp>

#include <Kokkos_Core.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace accrue {

/// Adds up the gradients of microbatches, and once per group makes the update of one large batch.
///
/// Order: `accumulate` any number of times, then `update`; `end_of_data` once after the last microbatch of the data.
/// Guarantee: parameters change in `update` and `end_of_data` only. A call that throws has changed nothing.
/// Cost: one pass over the gradients per microbatch; per group one read of the sums for norm and finite check, and one
/// pass of the update rule. Nothing fences but what says so, nothing allocates on the device after construction.
/// Failure: `accrue::error` for what the host can see; what the device finds is an outcome.
/// Example: examples/hello/hello.cpp
template <class Exec, class Set, class... Policies> class accumulator {
  using recipe_type = accrue::recipe<Policies...>;
  using set_type = std::conditional_t<is_parameter_set_v<Set>, Set, parameter_set<std::index_sequence<0>>>;
  using rules = update_rules<typename recipe_type::update_type, set_type>;
  using model_type = model<Exec, typename recipe_type::summation_type, set_type>;
  using normalization = typename recipe_type::normalization_type;
  using objective = typename recipe_type::objective_type;
  using count_type = typename normalization::count_type;
  static_assert(is_parameter_set_v<Set>, ACCRUE_SAY_NOT_PARAMETERS);
  static_assert(reachable_by<Exec, Set>, ACCRUE_SAY_UNREACHABLE_PARAMETER);
  static_assert(rules::fits || !is_parameter_set_v<Set>, ACCRUE_SAY_GROUPS_AND_RULES);

 public:
  using handle = update_handle<Exec>;

  explicit accumulator(std::type_identity_t<Set> parameters, std::type_identity_t<Policies>... policies)
      : accumulator(Exec{}, std::move(parameters), std::move(policies)...) {}

  /// Runs everything on `exec`, except where a call is given an instance of its own.
  accumulator(std::type_identity_t<Exec> exec, std::type_identity_t<Set> parameters,
              std::type_identity_t<Policies>... policies)
      : recipe_(policies...),
        exec_(std::move(exec)),
        model_(as_parameters(std::move(parameters)), rules::state_words(recipe_.update)) {
    if (model_.directory().size() == 0)
      throw error("accrue::accumulator: there are no parameters", "an update would change nothing",
                  "pass at least one view");
  }

  accumulator(accumulator&&) noexcept = default;
  accumulator& operator=(accumulator&&) noexcept = default;

  /// Adds one microbatch: its gradients as `mean_gradient` or `sum_gradient`, its counts, and its loss if wanted.
  ///
  /// Guarantee: when it returns the work is enqueued; the views may be overwritten on the same instance at once, or
  /// elsewhere after a fence. A microbatch whose declared count is 0 is ignored, but counts as a microbatch.
  /// Failure: `accrue::error` for a full group, wrong extents, counts that overflow.
  template <class Contribution, class... Facts> void accumulate(Contribution const& gradient, Facts const&... facts) {
    accumulate(exec_, gradient, facts...);
  }
  template <class Contribution, class... Facts>
  void accumulate(Exec const& exec, Contribution const& gradient, Facts const&... facts) {
    if constexpr (contribution_check<recipe_type, Exec, set_type, Contribution, Facts...>::passes())
      add(exec, gradient, facts...);
  }

  /// Closes the open group by its real weight: norm, finite check, clip, rule, in this order.
  ///
  /// Guarantee: all or nothing over parameters, optimizer state and counters. With no microbatch in it nothing closes,
  /// and the outcome is `empty`.
  handle update() { return update(exec_); }
  handle update(Exec const& exec) {
    static_assert(rules::given, ACCRUE_SAY_NO_UPDATE);
    require_alive();
    return held().value() == 0 ? known(exec, outcome::empty) : close(exec, static_cast<double>(group_.weight));
  }

  /// Applies the last-group policy to an open group; a full one is updated like any other, none is nothing to do.
  ///
  /// Failure: `accrue::error` under `refuse_last`, with the group still open.
  handle end_of_data() { return end_of_data(exec_); }
  handle end_of_data(Exec const& exec) {
    constexpr bool stated = !std::is_same_v<typename recipe_type::last_group_type, no_last_group>;
    static_assert(stated, ACCRUE_SAY_NO_LAST_GROUP);
    static_assert(rules::given || !stated, ACCRUE_SAY_NO_UPDATE);
    require_alive();
    handle const done = end_last_group(exec);
    if (observers_.want_end()) observers_.data_ended(ledger());
    return done;
  }

  /// Throws the open group away; the ledger counts what it held as dropped.
  void discard() {
    require_alive();
    if (held().value() > 0) book_closed(outcome::discarded);
  }

  /// Takes other settings of the update rule, for schedules; in force from the next update on.
  ///
  /// Failure: `accrue::error` for settings that make no sense, or that need more state than was allocated.
  template <class Rule> void change_rule(Rule const& rule) {
    constexpr bool same = std::is_same_v<Rule, typename recipe_type::update_type>;
    static_assert(same, ACCRUE_SAY_OTHER_RULE);
    if constexpr (same) {
      validate(rule);
      if (rules::state_words(rule) > rules::state_words(recipe_.update))
        throw error("accrue::accumulator: the new rule keeps more state per element",
                    "state is allocated at construction", "construct the accumulator with the rule that needs most");
      recipe_.update = rule;
    }
  }

  /// Takes another boundary of the same type, in force at once: an open group that already holds as much is full.
  template <class Boundary> void change_boundary(Boundary const& boundary) {
    constexpr bool same = std::is_same_v<Boundary, typename recipe_type::boundary_type>;
    static_assert(same, ACCRUE_SAY_NO_BOUNDARY);
    if constexpr (same) {
      validate(boundary);
      recipe_.boundary = boundary;
    }
  }

  /// Whether the boundary is reached: call `update()` before the next microbatch.
  [[nodiscard]] bool full() const { return held().value() > 0 && recipe_.boundary.full(group_.counts); }
  [[nodiscard]] microbatches held() const { return group_.counts.microbatches; }
  [[nodiscard]] recipe_type const& policies() const { return recipe_; }
  [[nodiscard]] Exec const& exec() const { return exec_; }

  /// The totals and the last records. Cost: one fence, if groups were closed since the last call.
  accrue::ledger const& ledger() {
    if (ledger_.unsettled() > 0) settle();
    return ledger_;
  }

  /// Adds an observer: a value, or a `std::ref` to an object that outlives the accumulator. See ledger/observer.hpp.
  ///
  /// Cost: one that wants records is served when somebody asks for the ledger, at the end of the data, and at the
  /// latest every `records_kept` groups, with a fence.
  template <class Observer> void observe(Observer o) {
    static_assert(observer<std::remove_reference_t<std::unwrap_reference_t<Observer>>>,
                  "accrue::accumulator: an observer has at least one of microbatch_accumulated, group_closing, "
                  "group_recorded, data_ended");
    observers_.add(std::move(o));
  }

  /// Norm, largest modulus and finiteness of the open group's gradient as it stands, before clipping. Fences.
  [[nodiscard]] gradient_summary measure() {
    require_alive();
    norm_order const order{group_clip_of(recipe_.clip).norm_order()};
    model_.measure_sums("accrue::finalize::measure", exec_, order);
    return summarize(exec_, order, model_.partials(), model_.chunk_count(), divisor(), scalars_);
  }

  /// A copy of the I-th item's gradient as it stands, before clipping; zero where untouched. Allocates.
  template <std::size_t I> [[nodiscard]] auto snapshot() {
    require_alive();
    return model_.template snapshot<I>(exec_, divisor());
  }

 private:
  void require_alive() const {
    if (model_.directory().size() == 0)
      throw error("accrue::accumulator: this object was moved from", "it has no parameters",
                  "use the one it was moved to");
  }
  [[nodiscard]] static set_type as_parameters(Set set) {
    if constexpr (is_parameter_set_v<Set>)
      return set;
    else
      return {};
  }
  [[nodiscard]] double divisor() const { return objective::divisor(static_cast<double>(group_.weight)); }
  [[nodiscard]] handle known(Exec const& exec, outcome o) const { return {exec, ring_, o}; }

  template <class Contribution, class... Facts>
  void add(Exec const& exec, Contribution const& gradient, Facts const&... fact) {
    require_alive();
    if (full())
      throw error("accrue::accumulator: the group is full", "another microbatch would change its update",
                  "call update() when full() is true");
    microbatch_facts facts;
    (facts.take(fact), ...);
    auto const entry = admit<normalization, objective>(facts, Contribution::is_mean);
    model_.check(gradient.items);
    auto next = group_;
    next.add(facts, entry.count, entry.ignored);
    group_counts const totals = ledger_.with(facts, entry.ignored);

    if (!entry.ignored) {
      add_microbatch<Contribution>(exec, model_, scalars_, entry.by, "accrue::accumulate::sum",
                                   microbatch_clip_of(recipe_.clip));
      (add_loss_if_given(exec, next.loss, fact, static_cast<double>(entry.count)), ...);
    }
    group_ = next;
    ledger_.book_microbatch(totals);
    observers_.microbatch_accumulated(group_.counts);
  }
  template <class Fact> void add_loss_if_given(Exec const& exec, group_loss& sum, Fact const& fact, double count) {
    if constexpr (loss_fact<Fact>) add_microbatch_loss(exec, scalars_, sum, fact, count);
  }

  handle end_last_group(Exec const& exec) {
    using policy = typename recipe_type::last_group_type;
    if (held().value() == 0) return known(exec, outcome::empty);
    double weight = static_cast<double>(group_.weight);
    if (full() || policy::action == last_group_action::update) {
      if constexpr (pads_weight<policy>)
        weight = recipe_.last_group.padded_weight(weight, held(), recipe_.boundary.microbatches());
      return close(exec, weight);
    }
    if (policy::action == last_group_action::drop) return known(exec, book_closed(outcome::dropped_last));
    if (policy::action == last_group_action::refuse)
      throw error(
          "accrue::accumulator: the data end inside a group of " + std::to_string(held().value()) + " microbatches",
          "the recipe says refuse_last",
          "close it with update(), throw it away with discard(), or feed what is missing");
    ledger_.book_carried();
    return known(exec, outcome::carried);
  }

  /// Finalizes and updates; `weight` is what the mean objective divides by.
  handle close(Exec const& exec, double weight) {
    observers_.group_closing(group_.counts);
    if (group_.contributed == 0 || !model_.any_touched()) return known(exec, book_closed(outcome::empty));
    if (observers_.want_records() && ledger_.unsettled() >= records_kept) settle();

    std::int64_t const number = ledger_.groups() + 1;
    auto const clip = group_clip_of(recipe_.clip);
    model_.measure_sums("accrue::finalize::measure", exec, norm_order{clip.norm_order()});
    launch_once("accrue::finalize::decide", exec,
                decide<std::remove_const_t<decltype(clip)>>{
                    model_.partials(), model_.chunk_count(), objective::divisor(weight), clip, number,
                    group_.loss.on_device ? scalars_.loss.data() : nullptr, group_.loss.on_host, divisor(),
                    model_.touched(), model_.updates_of_view(), static_cast<std::int64_t>(model_.directory().size()),
                    scalars_.verdict.data(), ring_.slot(number), ring_.totals()});
    model_.apply(rules::label(recipe_.update), exec, scalars_.verdict.data(), rules::on_device(recipe_.update), clip);
    latest_exec_ = exec;
    book_attempted(exec, number);
    return {exec, ring_, number};
  }

  void book_attempted(Exec const& exec, std::int64_t number) {
    if constexpr (rules::calls_host) {
      device_record const found = ring_.read_one(exec, number);
      std::vector<bool> const touched = model_.touched_views();
      book_closed(outcome::applied);
      if (found.result == outcome::applied) rules::call(recipe_.update, model_, exec, touched, found);
    } else {
      book_closed(outcome::applied);
    }
  }

  /// Enters the open group into the ledger under its outcome, and opens the next one. What the device decides is booked
  /// as applied and settled later.
  outcome book_closed(outcome o) {
    record entry;
    entry.result = o;
    entry.counts = group_.counts;
    entry.weight = static_cast<double>(group_.weight);
    if (group_.has_loss() && !group_.loss.on_device) entry.loss = group_.loss.on_host / divisor();
    if (group_.has_loss() && attempted(o)) entry.loss = 0.0;  // settled from the device's record
    ledger_.book_group(entry, attempted(o));
    group_ = {};
    model_.forget_touched();
    return o;
  }

  void settle() {
    ring_.read(latest_exec_);
    ledger_.settle(ring_.host_records_data(), ring_.host_totals_value(),
                   [&](record const& entry) { observers_.group_recorded(entry); });
  }

  recipe_type recipe_;
  Exec exec_;
  Exec latest_exec_ = exec_;  ///< of the last update, which the ledger waits for
  model_type model_;
  device_scalars<Exec> scalars_;
  record_ring<Exec> ring_;
  open_group<count_type> group_;
  accrue::ledger ledger_;
  observer_list observers_;
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

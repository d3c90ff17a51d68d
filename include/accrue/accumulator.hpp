// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATOR_HPP
#define ACCRUE_ACCUMULATOR_HPP

#include <accrue/core/contribution_check.hpp>
#include <accrue/core/open_group.hpp>
#include <accrue/core/parameter_space.hpp>
#include <accrue/group_sums.hpp>
#include <accrue/ledger/group_book.hpp>
#include <accrue/recipe.hpp>
#include <accrue/update_check.hpp>
#include <accrue/update_rules.hpp>

#include <Kokkos_Core.hpp>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

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
  using objective = typename recipe_type::objective_type;
  using normalization = typename recipe_type::normalization_type;
  using last_group = typename recipe_type::last_group_type;
  using holding = typename recipe_type::holding_type;
  using buffers = typename buffer_scalars<typename recipe_type::summation_type, set_type>::type;
  static constexpr bool in_float =
      buffers::template contains<float> || buffers::template contains<Kokkos::complex<float>>;
  static constexpr double largest_number =
      in_float ? double(std::numeric_limits<float>::max()) : std::numeric_limits<double>::max();

  static_assert(is_parameter_set_v<Set>, ACCRUE_SAY_NOT_PARAMETERS);
  static_assert(reachable_by<Exec, Set>, ACCRUE_SAY_UNREACHABLE_PARAMETER);
  static_assert(rules::fits || !is_parameter_set_v<Set>, ACCRUE_SAY_GROUPS_AND_RULES);

 public:
  using handle = update_handle<Exec>;

  explicit accumulator(typename std::type_identity<Set>::type parameters,
                       typename std::type_identity<Policies>::type... policies)
      : accumulator(Exec{}, std::move(parameters), std::move(policies)...) {}

  /// Runs everything on `exec`, except where a call is given an instance of its own.
  accumulator(typename std::type_identity<Exec>::type exec, typename std::type_identity<Set>::type parameters,
              typename std::type_identity<Policies>::type... policies)
      : policies_(policies...),
        exec_(std::move(exec)),
        sums_(exec_, set_type(std::move(parameters)), rules::state_words(policies_.update)),
        book_(exec_) {
    if (sums_.model().directory().size() == 0)
      throw error("accrue::accumulator: there are no parameters", "an update would change nothing",
                  "pass at least one view");
  }

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
    accumulate(exec_, gradient, facts...);
  }
  template <class Contribution, class... Facts>
  void accumulate(Exec const& exec, Contribution const& gradient, Facts const&... facts) {
    if constexpr (contribution_check<recipe_type, Exec, set_type, Contribution, Facts...>::passes() &&
                  clip_check<typename recipe_type::clip_type, buffers>::passes())
      add(exec, gradient, facts...);
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
    require_alive();
    require_room();
    if constexpr (lends) return sums_.lend();
  }

  /// Closes the open group by its real weight: norm, finite check, clip, rule, in this order.
  ///
  /// Guarantee: all or nothing over parameters, optimizer state and counters. With no microbatch in it nothing closes,
  /// and the outcome is `empty`.
  handle update() { return update(exec_); }
  handle update(Exec const& exec) {
    static_assert(rules::given, ACCRUE_SAY_NO_UPDATE);
    require_alive();
    if (held().value() == 0) return book_.nothing_closed(exec, outcome::empty);
    return close(exec, static_cast<double>(group_.weight));
  }

  /// Applies the last-group policy to an open group; a full one is updated like any other, none is nothing to do.
  ///
  /// Failure: `accrue::error` under `refuse_last`, with the group still open.
  handle end_of_data() { return end_of_data(exec_); }
  handle end_of_data(Exec const& exec) {
    constexpr bool stated = !std::is_same_v<last_group, no_last_group>;
    static_assert(stated, ACCRUE_SAY_NO_LAST_GROUP);
    static_assert(rules::given || !stated, ACCRUE_SAY_NO_UPDATE);
    require_alive();
    handle done = end_last_group(exec);
    observer_list const& observers = book_.observers();
    if (observers.want_end() || observers.want_records()) observers.data_ended(ledger());
    return done;
  }

  /// Throws the open group away; the ledger counts what it held as dropped.
  void discard() {
    require_alive();
    if (held().value() > 0) close_known(exec_, outcome::discarded);
  }

  /// Takes other settings of the update rule, for schedules; in force from the next update on.
  ///
  /// Failure: `accrue::error` for settings that make no sense, or that need more state than was allocated.
  template <class Rule>
  void change_rule(Rule const& rule) {
    constexpr bool same = std::is_same_v<Rule, typename recipe_type::update_type>;
    static_assert(same, ACCRUE_SAY_OTHER_RULE);
    if constexpr (same) {
      require_alive();
      accrue::validate(rule);
      sums_.model().require_state(rules::state_words(rule));
      policies_.update = rule;
    }
  }

  /// Takes another boundary of the same type, in force at once: an open group that already holds as much is full.
  template <class Boundary>
  void change_boundary(Boundary const& boundary) {
    constexpr bool same = std::is_same_v<Boundary, typename recipe_type::boundary_type>;
    static_assert(same, ACCRUE_SAY_NO_BOUNDARY);
    if constexpr (same) {
      require_alive();
      accrue::validate(boundary);
      policies_.boundary = boundary;
    }
  }

  /// Whether the boundary is reached: call `update()` before the next microbatch.
  [[nodiscard]] bool full() const { return held().value() > 0 && policies_.boundary.full(group_.counts); }
  [[nodiscard]] microbatches held() const { return group_.counts.microbatches; }
  [[nodiscard]] recipe_type const& policies() const { return policies_; }
  [[nodiscard]] Exec const& exec() const { return exec_; }

  /// The totals and the last records. Cost: one fence, if groups were closed since the last call.
  [[nodiscard]] accrue::ledger const& ledger() {
    require_alive();
    return book_.settled();
  }

  /// Adds an observer: a value, or a `std::ref` to an object that outlives the accumulator. See ledger/observer.hpp.
  ///
  /// Cost: one that wants records is served when somebody asks for the ledger, at the end of the data, and at the
  /// latest every `records_kept` groups, with a fence.
  template <class Observer>
  void observe(Observer watcher) {
    constexpr bool sees = observer<std::remove_reference_t<std::unwrap_reference_t<Observer>>>;
    static_assert(sees, ACCRUE_SAY_NOT_AN_OBSERVER);
    require_alive();
    if constexpr (sees) book_.observers().add(std::move(watcher));
  }

  /// Norm, largest modulus and finiteness of the open group's gradient as it stands, before clipping. Fences.
  [[nodiscard]] gradient_summary measure() { return measure(exec_); }
  [[nodiscard]] gradient_summary measure(Exec const& exec) {
    require_alive();
    return sums_.measure(exec, policies_.clip, divisor_so_far());
  }

  /// A copy of the I-th item's gradient as it stands, before clipping; zero where untouched. Allocates and fences.
  template <std::size_t I>
  [[nodiscard]] auto snapshot() {
    return snapshot<I>(exec_);
  }
  template <std::size_t I>
  [[nodiscard]] auto snapshot(Exec const& exec) {
    require_alive();
    sums_.flush(exec, policies_.clip);
    return snapshot_of<I>(sums_.model(), exec, divisor_so_far());
  }

 private:
  void require_alive() const {
    if (sums_.model().directory().size() == 0)
      throw error("accrue::accumulator: this object was moved from", "it has no parameters",
                  "use the one it was moved to");
  }
  void require_room() const {
    if (full())
      throw error("accrue::accumulator: the group is full", "another microbatch would change its update",
                  "call update() when full() is true");
  }
  [[nodiscard]] double divisor() const { return objective::divisor(static_cast<double>(group_.weight)); }

  /// For diagnostics: a group that weighs nothing yet has gradient zero, not 0/0.
  [[nodiscard]] double divisor_so_far() const { return group_.contributed > 0 ? divisor() : 1.0; }

  template <class Contribution, class... Facts>
  void add(Exec const& exec, Contribution const& gradient, Facts const&... fact) {
    require_alive();
    require_room();
    microbatch_facts facts;
    (facts.take(fact), ...);
    auto const admitted = admit<normalization, objective>(facts, Contribution::is_mean);
    sums_.check(exec, policies_.clip, gradient);
    (refuse_bad_loss(fact), ...);
    auto next = group_;
    next.add(facts, admitted.count, admitted.ignored);
    group_counts const totals = book_.totals().with(facts, admitted.ignored);

    if (!admitted.ignored) {
      bool const last = rules::given && policies_.boundary.full(next.counts);
      sums_.take(exec, policies_.clip, gradient, admitted.by, last);
      (add_loss_of(exec, sums_.scalars(), next.loss, fact, static_cast<double>(admitted.count)), ...);
    }
    group_ = next;
    book_.totals().book_microbatch(totals);
    book_.observers().microbatch_accumulated(group_.counts);
  }

  handle end_last_group(Exec const& exec) {
    if (held().value() == 0) return book_.nothing_closed(exec, outcome::empty);
    if (full() || last_group::action == last_group_action::update) {
      double weight = static_cast<double>(group_.weight);
      if constexpr (pads_weight<last_group>)
        weight = policies_.last_group.padded_weight(weight, held(), policies_.boundary.microbatches());
      return close(exec, weight);
    }
    if (last_group::action == last_group_action::drop) return close_known(exec, outcome::dropped_last);
    if (last_group::action == last_group_action::refuse)
      throw error("accrue::accumulator: the data end in a group of " + std::to_string(held().value()) +
                      " microbatches that is not full",
                  "the recipe says refuse_last", "update(), discard(), or feed what is missing");
    book_.totals().book_carried();
    return book_.nothing_closed(exec, outcome::carried);
  }

  /// Finalizes and updates; `weight` is what the mean objective divides by.
  handle close(Exec const& exec, double weight) {
    sums_.flush(exec, policies_.clip, sums_.norm_of_group(policies_.clip));
    if (group_.contributed == 0 || !sums_.model().any_touched()) return close_known(exec, outcome::empty);
    book_.observers().group_closing(group_.counts);
    auto const clip = group_clip_of(policies_.clip);
    if constexpr (clip_check<typename recipe_type::clip_type, buffers>::passes() &&
                  rule_check<typename rules::device_rules, buffers>::passes())
      return attempt(exec, weight, clip);
    else
      return close_known(exec, outcome::empty);
  }
  template <class Clip>
  handle attempt(Exec const& exec, double weight, Clip const& clip) {
    book_.make_room();
    sums_.settle_norm(exec, policies_.clip);
    norm_request const found = sums_.norm_of_group(policies_.clip);
    auto& model = sums_.model();
    decide<Clip> const decision{found.total,
                                found.order,
                                objective::divisor(weight),
                                clip,
                                largest_number,
                                book_.next_number(),
                                group_.loss.on_device ? &sums_.scalars().data()->loss : nullptr,
                                group_.loss.on_host,
                                divisor(),
                                model.touched(),
                                model.updates_of_view(),
                                static_cast<std::int64_t>(model.directory().size()),
                                book_.next_slot(),
                                book_.device_side()};
    model.apply(rules::label(policies_.update), exec, rules::on_device(policies_.update), clip, decision,
                found.workers_gone);

    handle done = book_.close_attempted(exec, entry());
    [[maybe_unused]] auto const touched = rules::touched_for_host(model);
    open_next();
    if constexpr (rules::calls_host) {
      device_record const entered = book_.read_last();
      if (entered.result == outcome::applied) rules::call(policies_.update, model, exec, touched, entered);
    }
    return done;
  }
  handle close_known(Exec const& exec, outcome known) {
    record half = entry();
    if (group_.loss.on_device) half.loss.reset();  // nobody brings the device's half
    handle done = book_.close(exec, half, known);
    open_next();
    return done;
  }

  /// The host's half of the open group's record; what the device found replaces the loss when it is settled.
  [[nodiscard]] record entry() const {
    record half;
    half.counts = group_.counts;
    half.weight = static_cast<double>(group_.weight);
    if (group_.has_loss()) half.loss = group_.loss.on_host / divisor();
    return half;
  }
  void open_next() {
    group_ = {};
    sums_.forget();
  }

  recipe_type policies_;
  Exec exec_;
  group_sums<Exec, recipe_type, set_type> sums_;
  open_group<typename normalization::count_type> group_;
  group_book<Exec> book_;
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

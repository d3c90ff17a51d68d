// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PIPELINE_HPP
#define ACCRUE_PIPELINE_HPP

#include <accrue/core/open_group.hpp>
#include <accrue/group_divisors.hpp>
#include <accrue/group_sums.hpp>
#include <accrue/ledger/group_book.hpp>
#include <accrue/recipe.hpp>
#include <accrue/term_microbatch.hpp>
#include <accrue/term_sums.hpp>
#include <accrue/update_check.hpp>
#include <accrue/update_rules.hpp>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace accrue {

/// The stages of one accumulator, called in their order: gate, sum, finalize, update, ledger.
///
/// Guarantee: a call that throws has changed nothing.
template <class Exec, class Recipe, class Set>
class pipeline {
  using rules = update_rules<typename Recipe::update_type, Set>;
  using objective = typename Recipe::objective_type;
  using normalization = typename Recipe::normalization_type;
  using division = typename Recipe::division_type;
  static constexpr bool has_terms = has_terms_v<normalization>;
  using group_type = open_group_under<normalization>;
  using sums_type = std::conditional_t<has_terms, term_sums<Exec, Recipe, Set>, group_sums<Exec, Recipe, Set>>;
  using last_group = typename Recipe::last_group_type;
  using buffers = typename buffer_scalars<typename Recipe::summation_type, Set>::type;
  static constexpr bool in_float =
      buffers::template contains<float> || buffers::template contains<Kokkos::complex<float>>;
  static constexpr double largest_number =
      in_float ? double(std::numeric_limits<float>::max()) : std::numeric_limits<double>::max();

 public:
  using handle = update_handle<Exec>;

  pipeline(Exec exec, Set set, Recipe const& policies)
      : policies_(policies),
        exec_(std::move(exec)),
        sums_(exec_, std::move(set), rules::state_words(policies_.update)),
        book_(exec_) {
    if (sums_.model().directory().size() == 0)
      throw error("accrue::accumulator: there are no parameters", "an update would change nothing",
                  "pass at least one view");
  }

  [[nodiscard]] Recipe const& policies() const { return policies_; }
  [[nodiscard]] Exec const& exec() const { return exec_; }
  [[nodiscard]] group_counts const& counts() const { return group_.counts; }
  [[nodiscard]] microbatches held() const { return group_.counts.microbatches; }
  [[nodiscard]] bool full() const { return held().value() > 0 && policies_.boundary.full(group_.counts); }

  [[nodiscard]] group_book<Exec>& book() {
    require_alive();
    return book_;
  }

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
  void change_division(Division const& division) {
    require_alive();
    accrue::validate(division);
    if (held().value() > 0)
      throw error("accrue::accumulator: change_division() came inside of a group",
                  "its gradients are divided by what was said before", "change it before the first microbatch");
    policies_.division = division;
  }

  /// Views for the next microbatch.
  [[nodiscard]] auto lend() {
    require_alive();
    require_room();
    return sums_.lend();
  }

  /// Adds one microbatch, whose types were checked. Returns what was adopted before, where this is adopted.
  template <class Contribution, class... Facts>
  auto add(Exec const& exec, Contribution const& gradient, Facts const&... fact) {
    require_alive();
    require_room();
    microbatch_facts facts;
    (facts.take(fact), ...);
    auto admitted = admit<normalization, objective>(facts, Contribution::is_mean);
    sums_.check(exec, policies_.clip, gradient);
    (refuse_bad_loss(fact), ...);
    auto next = group_;
    next.add(facts, admitted.count, admitted.ignored);
    double const shrink = divisors().divide(admitted.by, next.weight);
    group_counts const totals = book_.totals().with(facts, admitted.ignored);

    auto const enter = [&] {
      if (!admitted.ignored)
        (add_loss_of(exec, sums_.scalars(), next.loss, fact, static_cast<double>(admitted.count)), ...);
      group_ = next;
      book_.totals().book_microbatch(totals);
      book_.observers().microbatch_accumulated(group_.counts);
    };
    if constexpr (is_adopted_v<Contribution>) {
      if (!admitted.ignored) sums_.shrink(shrink);
      auto before = admitted.ignored ? std::nullopt : sums_.adopt(gradient, admitted.by);
      enter();
      return admitted.ignored ? gradient.give_back() : std::move(before);
    } else {
      if (!admitted.ignored) {
        sums_.shrink(shrink);
        take(exec, gradient, admitted.by, rules::given && (facts.last || policies_.boundary.full(next.counts)));
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
    group_counts const totals = book_.totals().with(microbatch.facts(), microbatch.ignored());
    bool const last = rules::given && (microbatch.facts().last || policies_.boundary.full(next.counts));
    try {
      microbatch.enter(exec, policies_, sums_, next, last, given...);
    } catch (...) {  // of a producer: the sums may be written in part, and other terms are in them
      discard();
      sums_.forget();
      throw;
    }
    group_ = next;
    book_.totals().book_microbatch(totals);
    book_.observers().microbatch_accumulated(group_.counts);
  }

  handle update(Exec const& exec) {
    require_alive();
    if (held().value() == 0) return book_.nothing_closed(exec, outcome::empty);
    return close(exec, divisors().weight());
  }

  /// Closes a full group like any other, and does with one that is not as the last-group policy says.
  handle end_last_group(Exec const& exec) {
    require_alive();
    if (held().value() == 0) return book_.nothing_closed(exec, outcome::empty);
    if (full() || last_group::action == last_group_action::update) {
      double weight = divisors().weight();
      if constexpr (pads_weight<last_group>)
        weight = policies_.last_group.padded_weight(weight, held(), policies_.boundary.microbatches());
      return close(exec, weight);
    }
    if (last_group::action == last_group_action::drop) return close_known(exec, outcome::dropped_last);
    if (last_group::action == last_group_action::refuse)
      throw error(joined({"accrue::accumulator: the data end in a group of ", std::to_string(held().value()),
                          " microbatches that is not full"}),
                  "the recipe says refuse_last", "update(), discard(), or feed what is missing");
    book_.totals().book_carried();
    return book_.nothing_closed(exec, outcome::carried);
  }

  void discard() {
    require_alive();
    if (held().value() > 0) close_known(exec_, outcome::discarded);
  }

  [[nodiscard]] gradient_summary measure(Exec const& exec) {
    require_alive();
    return look(exec, [&] { return sums_.measure(exec, policies_.clip, divisors().of_sums_so_far()); });
  }
  template <std::size_t I>
  [[nodiscard]] auto snapshot(Exec const& exec) {
    require_alive();
    sums_.flush(exec, policies_.clip);
    return look(exec, [&] { return snapshot_of<I>(sums_.model(), exec, divisors().of_sums_so_far()); });
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
  /// What the weight of the open group has its sums and losses divided by.
  [[nodiscard]] group_divisors<Recipe, group_type> divisors() const { return {policies_, group_}; }

  /// Calls `what()` while the buffer is the whole of the open group.
  template <class What>
  [[nodiscard]] auto look(Exec const& exec, What const& what) {
    if constexpr (has_terms)
      return sums_.look_at_whole(exec, divisors().factors(), what);
    else
      return what();
  }
  template <class Contribution>
  void take(Exec const& exec, Contribution const& gradient, microbatch_weight const& by, bool last) {
    if constexpr (is_written_v<Contribution>) {
      try {
        sums_.take(exec, policies_.clip, gradient, by, last);
      } catch (...) {  // the sums may be written in part
        discard();
        throw;
      }
    } else {
      sums_.take(exec, policies_.clip, gradient, by, last);
    }
  }

  /// Finalizes and updates; `weight` is what the mean objective divides by.
  handle close(Exec const& exec, double weight) {
    divisors().check_closing();
    if constexpr (has_terms) group_.combine(divisors().factors());
    sums_.flush(exec, policies_.clip, sums_.norm_of_group(policies_.clip));
    if (group_.contributed == 0 || !sums_.any_touched()) return close_known(exec, outcome::empty);
    book_.observers().group_closing(group_.counts);
    auto const clip = group_clip_of(policies_.clip);
    if constexpr (clip_check<typename Recipe::clip_type, buffers>::passes() &&
                  rule_check<typename rules::device_rules, buffers>::passes())
      return attempt(exec, weight, clip);
    else
      return close_known(exec, outcome::empty);
  }
  template <class Clip>
  handle attempt(Exec const& exec, double weight, Clip const& clip) {
    book_.make_room();
    if constexpr (has_terms) sums_.fold(exec, policies_.clip, divisors().factors(), group_);
    sums_.settle_norm(exec, policies_.clip);
    norm_request const found = sums_.norm_of_group(policies_.clip);
    auto& model = sums_.model();
    decide<Clip> const decision{found.total,
                                found.order,
                                divisors().of_sums(weight),
                                clip,
                                largest_number,
                                book_.next_number(),
                                group_.loss.on_device ? &sums_.scalars().data()->loss : nullptr,
                                group_.loss.on_host,
                                divisors().of_losses(),
                                model.touched(exec),
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
    if constexpr (has_terms) group_.combine(divisors().factors());
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
    if constexpr (has_terms) half.take_weights(group_.weights());
    if (group_.has_loss()) half.loss = group_.loss.on_host / divisors().of_losses();
    return half;
  }
  void open_next() {
    group_ = {};
    sums_.forget();
  }

  Recipe policies_;
  Exec exec_;
  sums_type sums_;
  group_type group_;
  group_book<Exec> book_;
};

}  // namespace accrue
#endif

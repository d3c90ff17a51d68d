// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PIPELINE_HPP
#define ACCRUE_PIPELINE_HPP

#include <accrue/filling.hpp>
#include <accrue/finalize/stop_check.hpp>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace accrue {

/// Closes groups over replicas, see closing_over_replicas.hpp.
template <class Exec, class Recipe, class Set>
class closing_over_replicas;
template <class Exec, class Recipe, class Set>
class replica_reports;
template <class Exec, class Recipe, class Set>
class sums_over_replicas;
template <class Exec, class Recipe, class Set>
class decision_over_replicas;

/// The stages of one accumulator, called in their order: gate, sum, finalize, update, ledger.
///
/// Guarantee: a call that throws has changed nothing, but where a policy asks for an error after the fact: then the
/// group is closed and on the record.
template <class Exec, class Recipe, class Set>
class pipeline : public filling<Exec, Recipe, Set> {
  using base = filling<Exec, Recipe, Set>;
  using base::alone;
  using base::book_;
  using base::close_known;
  using base::divisors;
  using base::entry;
  using base::group_;
  using base::has_terms;
  using base::own_counts;
  using base::policies_;
  using base::rejects;
  using base::replica_side_;
  using base::require_alive;
  using base::scale_;
  using base::scales;
  using base::sums_;
  using typename base::loss_scale;
  using typename base::objective;
  using typename base::rules;
  using typename base::scaling;
  using last_group = typename Recipe::last_group_type;
  using veto = typename Recipe::veto_type;
  using summation = typename Recipe::summation_type;
  using buffers = typename buffer_scalars<summation, Set>::type;
  using veto_in_kernels = std::conditional_t<veto::on_host, answered_veto, veto>;
  using conditions_type = conditions<typename scaling::type, veto_in_kernels, rejects>;
  static constexpr bool in_float =
      buffers::template contains<float> || buffers::template contains<Kokkos::complex<float>>;
  static constexpr double largest_number =
      in_float ? double(std::numeric_limits<float>::max()) : std::numeric_limits<double>::max();

 public:
  using base::full;
  using base::held;
  using typename base::handle;

  using base::base;

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
      double divided = divisors().weight();
      if constexpr (pads_weight<last_group>)
        divided = policies_.last_group.padded_weight(divided, held(), policies_.boundary.microbatches());
      return close(exec, divided, pads_weight<last_group> && !full());
    }
    if (last_group::action == last_group_action::drop) return close_known(exec, outcome::dropped_last);
    if (last_group::action == last_group_action::refuse)
      throw error(joined({"accrue::accumulator: the data end in a group of ", std::to_string(held().value()),
                          " microbatches that is not full"}),
                  "the recipe says refuse_last", "update(), discard(), or feed what is missing");
    book_.totals().book_carried();
    return book_.nothing_closed(exec, outcome::carried);
  }

  [[nodiscard]] gradient_summary measure(Exec const& exec) {
    require_alive();
    double const by = divisor_so_far(exec);
    return look(exec, [&] { return sums_.measure(exec, policies_.clip, by); });
  }
  template <std::size_t I>
  [[nodiscard]] auto snapshot(Exec const& exec) {
    require_alive();
    sums_.settle(exec, policies_.clip);
    sums_.settle_gate(exec);
    double const by = divisor_so_far(exec);
    return look(exec, [&] { return snapshot_of<I>(sums_.model(), exec, by); });
  }

  // For accumulators that close together: each is prepared, then each is closed with the verdicts of the others.

  /// Whether there is something to update; all that is held is in the sums then.
  [[nodiscard]] bool prepare(Exec const& exec) {
    require_alive();
    if (group_.contributed == 0) return false;
    divisors().check_closing();
    if constexpr (has_terms) group_.combine(divisors().factors());
    sums_.flush(exec, policies_.clip, sums_.norm_of_group(policies_.clip));
    return sums_.any_touched();
  }
  /// Failure: `accrue::error` where groups are open under the scale that do not close now.
  void require_scale_of([[maybe_unused]] int closing) const {
    if constexpr (scales) {
      if (scale_.cell().open_groups() > closing)
        throw error("accrue::accumulator: other groups are open under the loss scale that this one shares",
                    "they were filled under a scale that this update may change",
                    "close all of them with accrue::update_together()");
    }
  }
  [[nodiscard]] void const* scale_identity() const {
    if constexpr (scales)
      return scale_.cell().data();
    else
      return nullptr;
  }
  /// Says whether a predicate on the host vetoes the group; it is asked once.
  [[nodiscard]] bool give_verdict(Exec const& exec) { return give_verdict(exec, divisors().weight(), false); }
  [[nodiscard]] bool give_verdict(Exec const& exec, double divided, bool padded) {
    settle(exec);
    auto decision = decision_of(exec, divided, padded, {});
    if constexpr (veto::on_host) decision.when.vetoed = vetoed_on_host(exec, decision);
    launch_once("accrue::finalize::verdict", exec,
                note_verdict<decltype(decision)>{decision, &sums_.scalars().data()->verdict});
    return decision.when.vetoed;
  }
  [[nodiscard]] group_verdict const* verdict() const { return &sums_.scalars().data()->verdict; }
  /// What observers do may throw, and is done before the first of them closes.
  void announce_closing() {
    book_.make_room();
    book_.observers().group_closing(group_.counts);
  }
  handle close_with(Exec const& exec, companions const& together, bool vetoed) {
    return attempt(exec, divisors().weight(), false, together, vetoed);
  }
  handle close_empty(Exec const& exec) {
    if (held().value() == 0) return book_.nothing_closed(exec, outcome::empty);
    return close_known(exec, outcome::empty);
  }
  /// Throws where a policy asks for an error about the group that was closed last. Fences then.
  void stop_where_asked() {
    stop_check const check(policies_.non_finite, policies_.loss_scale);
    if (!rules::given || !check.looks()) return;
    auto const [record, totals] = book_.look();
    bool stuck = false;
    if constexpr (scales) stuck = scale_.cell().state().stuck > 0;
    check(record, totals, stuck);
  }

 private:
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

  /// Makes the buffer the whole sum, and brings its norm to where the decision looks for it.
  void settle(Exec const& exec) {
    if constexpr (has_terms) sums_.fold(exec, policies_.clip, divisors().factors(), group_);
    sums_.settle_norm(exec, policies_.clip);
  }
  /// Calls `what()` while the buffer is the whole of the open group.
  template <class What>
  [[nodiscard]] auto look(Exec const& exec, What const& what) {
    if constexpr (has_terms)
      return sums_.look_at_whole(exec, divisors().factors(), what);
    else
      return what();
  }
  /// For diagnostics: a group that weighs nothing yet has gradient zero, not 0/0.
  [[nodiscard]] double divisor_so_far(Exec const& exec) {
    double by = divisors().of_sums_so_far();
    if constexpr (rejects) {
      sums_.settle_gate(exec);
      gate_state const gate = sums_.scalars().read(exec, "accrue::finalize: read what was let through").gate;
      auto when = conditions_so_far(false);
      when.gate = &gate;
      if (group_.contributed > 0) by = when.emptied() ? 1.0 : when.of_accepted(by);
    }
    if constexpr (scales) by *= static_cast<double>(scale_.cell().on(exec).value());
    return by;
  }

  /// Finalizes and updates; the mean objective divides by `divided`.
  handle close(Exec const& exec, double divided, bool padded = false) {
    if (!prepare(exec)) return close_known(exec, outcome::empty);
    require_scale_of(1);
    book_.observers().group_closing(group_.counts);
    handle done = attempt(exec, divided, padded, {});
    stop_where_asked();
    return done;
  }

  [[nodiscard]] veto_in_kernels veto_for_kernels() const {
    if constexpr (veto::on_host)
      return {};
    else
      return policies_.veto;
  }
  [[nodiscard]] conditions_type conditions_so_far(bool padded) const {
    conditions_type when{scaling::get(policies_.loss_scale), veto_for_kernels()};
    if constexpr (scales) when.scale = scale_.cell().data();
    group_counts const& n = group_.counts;
    when.handed_over = {
        0.0, 0.0, static_cast<double>(group_.weight), n.microbatches.value(), n.samples.value(), n.tokens.value()};
    when.weighs = objective::own_is_mean;
    when.pads = padded;
    when.has_loss = group_.has_loss();
    if constexpr (rejects) when.gate = &sums_.scalars().data()->gate;
    return when;
  }
  [[nodiscard]] auto decision_of(Exec const& exec, double divided, bool padded, companions const& together) {
    norm_request const found = sums_.norm_of_group(policies_.clip);
    auto& model = sums_.model();
    auto const clip = group_clip_of(policies_.clip);
    decide<std::remove_const_t<decltype(clip)>, conditions_type> decision{
        found.total,
        found.order,
        divisors().of_sums(divided),
        clip,
        largest_number,
        book_.next_number(),
        group_.loss.on_device ? &sums_.scalars().data()->loss : nullptr,
        static_cast<double>(group_.loss.on_host),
        divisors().of_losses(),
        model.touched(exec),
        model.updates_of_view(),
        static_cast<std::int64_t>(model.directory().size()),
        book_.next_slot(),
        book_.device_side(),
        conditions_so_far(padded)};
    decision.when.together = together;
    return decision;
  }
  /// Asks the host's predicate, about a group that would be applied. Fences.
  template <class Decision>
  [[nodiscard]] bool vetoed_on_host(Exec const& exec, Decision decision) const {
    group_scalars const found = sums_.scalars().read(exec, "accrue::finalize: read for a veto");
    loss_scale_state state;
    if constexpr (scales) state = scale_.cell().on(exec).state();
    decision.total = &found.total;
    if (decision.device_loss != nullptr) decision.device_loss = &found.loss;
    decision.when.scale = &state;
    decision.when.gate = &found.gate;
    auto const verdict = decision.settle_alone();
    return verdict.apply != 0 && policies_.veto(decision.when.found(verdict.norm, decision.loss()));
  }

  handle attempt(Exec const& exec, double divided, bool padded, companions const& together,
                 [[maybe_unused]] std::optional<bool> vetoed = {}) {
    constexpr bool checked = clip_check<typename Recipe::clip_type, buffers>::passes() &&
                             rule_check<typename rules::device_rules, buffers>::passes();
    if constexpr (!checked) {
      return close_known(exec, outcome::empty);
    } else {
      book_.make_room();
      settle(exec);
      auto& model = sums_.model();
      auto decision = decision_of(exec, divided, padded, together);
      if constexpr (veto::on_host) decision.when.vetoed = vetoed ? *vetoed : vetoed_on_host(exec, decision);
      model.apply(rules::label(policies_.update), exec, rules::on_device(policies_.update, book_.clock()),
                  decision.clip, decision, sums_.norm_of_group(policies_.clip).workers_gone);

      handle done = book_.close_attempted(exec, entry(), own_counts());
      [[maybe_unused]] auto const touched = rules::touched_for_host(model, exec);
      this->open_next();
      if constexpr (rules::calls_host) {
        device_record const entered = book_.look().record;
        if (entered.result == outcome::applied) rules::call(policies_.update, model, exec, touched, entered);
      }
      return done;
    }
  }
};

}  // namespace accrue
#endif

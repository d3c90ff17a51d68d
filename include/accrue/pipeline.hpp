// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PIPELINE_HPP
#define ACCRUE_PIPELINE_HPP

#include <accrue/deciding.hpp>
#include <accrue/finalize/stop_check.hpp>

#include <Kokkos_Core.hpp>
#include <cstddef>
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
class pipeline : public deciding<Exec, Recipe, Set> {
  using base = deciding<Exec, Recipe, Set>;
  using base::alone;
  using base::book_;
  using base::close_known;
  using base::conditions_so_far;
  using base::decision_of;
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
  using base::settle;
  using base::sums_;
  using base::vetoed_on_host;
  using typename base::buffers;
  using typename base::rules;
  using typename base::veto;
  using last_group = typename Recipe::last_group_type;

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

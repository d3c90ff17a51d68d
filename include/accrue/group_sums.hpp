// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_GROUP_SUMS_HPP
#define ACCRUE_GROUP_SUMS_HPP

#include <accrue/accumulate/add_microbatch.hpp>
#include <accrue/accumulate/holding.hpp>
#include <accrue/core/adopted.hpp>
#include <accrue/core/device_scalars.hpp>
#include <accrue/core/replica_transport.hpp>
#include <accrue/core/shard.hpp>
#include <accrue/finalize/clip_policy.hpp>
#include <accrue/finalize/summarize.hpp>
#include <accrue/passes/buffer_views.hpp>
#include <accrue/passes/rows_of_model.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace accrue {

/// The sums of the open group: takes contributions in, adds what is held when that is due, and knows whether the norm
/// of what is there was measured on the way.
template <class Exec, class Recipe, class Set>
class group_sums {
  using holding = typename Recipe::holding_type;
  using clip_type = typename Recipe::clip_type;

  static constexpr bool rejects = Recipe::non_finite_type::rejects;

  /// Nobody has to look at a microbatch by itself before it is added.
  static constexpr bool plain = !is_on_microbatch_v<clip_type> && !rejects;
  /// What is held waits for the update, where sums go over while it is added.
  static constexpr bool waits_for_update = overlaps_v<typename Recipe::replicas_type>;
  /// The sums are all there is to know, so that gradients may become sums where they lie.
  static constexpr bool uncarried = !carries_v<typename Recipe::summation_type>;

 public:
  using model_type = accrue::model<Exec, typename Recipe::summation_type, Set, holding::sets>;

  group_sums(Exec const& exec, Set set, int state_words, shard const& of = {}, int further_sets = 0)
      : model_(exec, std::move(set), state_words, holding::lent + further_sets, rejects, of), scalars_(exec) {}

  /// Gradients are multiplied by this number, which lies on the device.
  void scaled_by(float const* loss_scale) { loss_scale_ = loss_scale; }
  /// Microbatches that are not finite, or whose norm is above the bound, are left out and noted.
  void reject_above(double largest_norm, rejection_notes const& notes) {
    largest_norm_ = largest_norm;
    notes_ = notes;
  }
  /// What the next contribution brings beside its gradient, which may be rejected.
  void announce(microbatch_entry const& next) {
    next_ = next;
    next_.first = !looked_;
  }
  /// Makes the flags of a gate those of the open group, where it has looked at none of its microbatches.
  void settle_gate([[maybe_unused]] Exec const& exec) {
    if constexpr (rejects) {
      if (!looked_) model_.clear_gate(exec);
    }
  }

  [[nodiscard]] model_type& model() { return model_; }
  [[nodiscard]] model_type const& model() const { return model_; }
  [[nodiscard]] device_scalars<Exec> const& scalars() const { return scalars_; }

  [[nodiscard]] bool any_touched() const { return model_.any_touched(); }
  /// Of each view, in the order of the user. Cost: one fence where a gate on the device knows.
  [[nodiscard]] std::vector<bool> touched_views(Exec const& exec) const { return model_.touched_views(exec); }

  /// Checks a contribution; throws with nothing changed. Contributions of another type that are held go first.
  template <class Contribution>
  void check(Exec const& exec, clip_type const& clip, Contribution const& gradient) {
    constexpr bool at_once = is_written_v<Contribution> || has_rows_v<Contribution>;
    model_.reclaim();
    if (waits_for_update && held_.full()) flush(exec, clip);
    if constexpr (has_rows_v<Contribution>) check_rows<Exec>(model_, gradient.items, held_.count());
    if constexpr (!is_written_v<Contribution>) model_.check(gradient.items, held_.count(), plain && uncarried);
    bool const waits = held_.count() > 0;
    if (waits && (at_once || add_held_ != &group_sums::template add_held<Contribution>)) {
      flush(exec, clip);
      if constexpr (!is_written_v<Contribution>) model_.check(gradient.items, 0, plain && uncarried);
    }
  }

  /// The same for one that is to become the sums.
  template <class Contribution>
  void check(Exec const&, clip_type const&, adopted<Contribution> const& gradient) {
    model_.reclaim();
    model_.check(gradient.items, held_.count(), false, false);
    model_.require_sole_owner(gradient.items);
    model_.tables().require_adoptable(model_.directory(), held_.count());
  }

  /// Makes the contribution that was checked last the sums. Returns the one before it, if it has the same type.
  template <class Contribution>
  std::optional<Contribution> adopt(adopted<Contribution> const& gradient, microbatch_weight const& by) {
    measured_ = false;
    model_.adopt(by.product);
    return adopted_.exchange(gradient.given());
  }

  /// Multiplies everything that is in the group, on the way: sums in their next pass, held contributions in theirs.
  void shrink(double factor) {
    if (factor == 1.0) return;
    measured_ = false;
    held_.multiply(factor);
    model_.shrink(factor);
  }

  /// Takes in the contribution that was checked last. With the `last` one of the group the norm is measured, if its
  /// pass is not that of a producer.
  template <class Contribution>
  void take(Exec const& exec, clip_type const& clip, Contribution const& gradient, microbatch_weight const& by,
            bool last) {
    measured_ = false;
    if constexpr (is_written_v<Contribution>) {
      write_through(exec, model_, gradient.producer, by.product, asked_);
    } else {
      if constexpr (has_rows_v<Contribution>) add_rows(exec, model_, gradient.items, by.product);
      add_held_ = &group_sums::template add_held<Contribution>;
      next_.touches = model_.hold(held_.count(), by.product);
      if (next_.touches || rejects)  // a gate enters what brings no gradient as well
        held_.add(by, gradient, model_.tables().identity(held_.count()), model_.tables().recognised());
      if ((held_.full() && !waits_for_update) || last) flush(exec, clip, last ? norm_of_group(clip) : norm_request{});
    }
  }

  /// Adds the contribution that was checked last to sums that are sharded, together with those of other replicas.
  template <class Contribution, class Exchange, class Transport>
  void take_with_others(Exec const& exec, Exchange& exchange, Transport const& transport, microbatch_weight const& by) {
    model_.hold(0, by.product);
    auto const weigh = [&]<class B>(std::type_identity<B>, int) {
      return weigh_plainly<B>{static_cast<real_t<B>>(by.product)};
    };
    exchange.template add<Contribution>(transport, exec, model_, weigh, !with_others_);
    model_.note_added(1);
    with_others_ = true;
  }
  /// The same where only others have one.
  template <class Exchange, class Transport>
  void take_of_others(Exec const& exec, Exchange& exchange, Transport const& transport) {
    exchange.add_nothing(transport, exec, model_, !with_others_);
    with_others_ = true;
  }
  /// Whether sums of the open group are those of others as well.
  [[nodiscard]] bool with_others() const { return with_others_; }

  /// Adds what is held, so that the sums are those of all microbatches; with a norm that is `wanted` on the way.
  void flush(Exec const& exec, clip_type const& clip, norm_request const& wanted = {}) {
    if (held_.count() == 0) return;
    (this->*add_held_)(exec, clip, wanted, nullptr);
    held_.clear();
    measured_ = static_cast<bool>(wanted);
  }

  /// The same piece by piece: `flush_piece` for each, then `note_flushed`.
  void flush_piece(Exec const& exec, clip_type const& clip, piece const& only) {
    if (held_.count() > 0) (this->*add_held_)(exec, clip, {}, &only);
  }
  void note_flushed() {
    model_.note_added(held_.count());
    held_.clear();
    measured_ = false;
  }
  /// Of each view, in the order of the user: whether it is touched, once what is held is added.
  [[nodiscard]] std::vector<bool> views_touched_with_held() const {
    std::vector<bool> touched(model_.directory().size());
    for (std::size_t v = 0; v < touched.size(); ++v)
      touched[v] = model_.tables().will_be_touched(model_.directory()[v].number, held_.count());
    return touched;
  }
  [[nodiscard]] bool will_be_at_home() const { return model_.tables().will_be_at_home(held_.count()); }

  /// Brings all that was taken in into the buffer. Cost: one read more where a summation leaves the sums for later.
  void settle(Exec const& exec, clip_type const& clip) {
    flush(exec, clip);
    if constexpr (value_is_late_v<typename Recipe::summation_type>) settle_norm(exec, clip);
  }

  /// The norm that clip and record go by.
  [[nodiscard]] norm_request norm_of_group(clip_type const& clip) const {
    group_scalars* const on_device = scalars_.data();
    return {norm_order{group_clip_of(clip).norm_order()}, &on_device->total, &on_device->workers_gone};
  }
  /// Brings the norm of the group to where `norm_of_group` says, if it is not there yet.
  void settle_norm(Exec const& exec, clip_type const& clip) {
    flush(exec, clip, norm_of_group(clip));
    if (!measured_) model_.measure_sums("accrue::finalize::measure", exec, norm_of_group(clip));
    measured_ = true;
  }

  /// A summary of the sums over `divisor`, for the user.
  [[nodiscard]] gradient_summary measure(Exec const& exec, clip_type const& clip, double divisor) {
    flush(exec, clip);
    settle_gate(exec);
    norm_request wanted = norm_of_group(clip);
    wanted.thoroughly = true;
    model_.measure_sums("accrue::finalize::measure", exec, wanted);
    measured_ = false;  // what the pass of the last microbatch left is gone
    return summarize(exec, wanted.order, divisor, scalars_);
  }

  /// Views for the next microbatch: in the buffer where nothing has been added to it.
  [[nodiscard]] auto lend(Exec const& exec, clip_type const& clip) {
    model_.reclaim();
    if (waits_for_update && held_.full()) flush(exec, clip);
    bool const buffer_is_free = uncarried && !model_.any_touched() && held_.count() == 0;
    return lent_gradients(model_, buffer_is_free ? -1 : model_.tables().free_set(held_.count()));
  }

  /// For a restart: whether the norm of the sums is on the device.
  [[nodiscard]] bool measured() const { return measured_; }
  void note_measured(bool is_there) { measured_ = is_there; }
  /// Likewise: whether a gate has looked at a microbatch of the open group.
  [[nodiscard]] bool looked() const { return looked_; }
  void note_looked(bool has) { looked_ = has; }

  /// Begins a group.
  void forget() {
    held_.clear();
    measured_ = false;
    looked_ = false;
    with_others_ = false;
    model_.forget_touched();
  }

 protected:
  template <class Contribution>
  void add_held(Exec const& exec, clip_type const& clip, norm_request const& wanted, piece const* only) {
    auto const on_microbatch = microbatch_clip_of(clip);
    microbatch_gate<decltype(on_microbatch), rejects> const gate{on_microbatch, loss_scale_, largest_norm_, next_,
                                                                 notes_};
    add_microbatches<Contribution, piece>(exec, model_, scalars_, held_, gate, wanted, only);
    looked_ = rejects;
  }

  model_type model_;
  device_scalars<Exec> scalars_;
  held_contributions<holding::sets> held_;
  void (group_sums::*add_held_)(Exec const&, clip_type const&, norm_request const&,
                                piece const*) = nullptr;  ///< by type
  adopted_memory adopted_;
  std::vector<std::uint8_t> asked_;  ///< of each view: whether a producer wrote its sums
  bool measured_ = false;            ///< the norm of the sums is on the device
  float const* loss_scale_ = nullptr;
  double largest_norm_ = 0.0;  ///< of a microbatch that is let through, where some are rejected
  rejection_notes notes_;
  microbatch_entry next_;
  bool looked_ = false;       ///< a gate has looked at a microbatch of the open group
  bool with_others_ = false;  ///< where sums are sharded: they are those of others as well
};

}  // namespace accrue
#endif

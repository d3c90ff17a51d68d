// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATOR_STATE_HPP
#define ACCRUE_ACCUMULATOR_STATE_HPP

#include <accrue/core/open_group.hpp>
#include <accrue/core/replica_transport.hpp>
#include <accrue/core/scale_cell.hpp>
#include <accrue/core/shard.hpp>
#include <accrue/finalize/shared_scale.hpp>
#include <accrue/group_divisors.hpp>
#include <accrue/group_sums.hpp>
#include <accrue/ledger/group_book.hpp>
#include <accrue/recipe.hpp>
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

/// What an accumulator keeps: its recipe, whose settings may change, the sums and the counts of the open group, the
/// book of the closed ones.
template <class Exec, class Recipe, class Set>
class accumulator_state {
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

 public:
  using handle = update_handle<Exec>;

  accumulator_state(Exec exec, Set set, Recipe const& policies)
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
  std::optional<group_counts> own_;  ///< of this replica, while the open group is that of all of them

  /// What this replica handed over to a group that is closed over replicas; null for others.
  [[nodiscard]] group_counts const* own_counts() const { return own_ ? &*own_ : nullptr; }

  /// The counts that a boundary goes by.
  [[nodiscard]] static group_counts let_through(group_type const& group) {
    if constexpr (rejects)
      return group.counts.without(group.rejected);
    else
      return group.counts;
  }

 private:
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
};

}  // namespace accrue
#endif

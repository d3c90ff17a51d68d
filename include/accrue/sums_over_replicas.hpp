// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_SUMS_OVER_REPLICAS_HPP
#define ACCRUE_SUMS_OVER_REPLICAS_HPP

#include <accrue/passes/sum_exchange.hpp>
#include <accrue/pipeline.hpp>
#include <accrue/replica_reports.hpp>
#include <accrue/replica_side.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace accrue {

/// Makes the sums of several replicas one, of which each has the whole, or its part where they are sharded.
template <class Exec, class Recipe, class Set>
class sums_over_replicas {
  using stages = pipeline<Exec, Recipe, Set>;
  using replica = hosted_replica<Exec, Recipe, Set>;
  using group_type = typename stages::group_type;
  using transport_type = typename Recipe::replicas_type;
  using arrival = typename transport_type::arrival;
  using exchange = typename replica_side<Exec, typename stages::sums_type::model_type, Recipe, false>::exchange_type;
  static constexpr bool has_terms = has_terms_v<typename Recipe::normalization_type>;
  static constexpr bool scales = Recipe::loss_scale_type::scales;

 public:
  sums_over_replicas(std::vector<replica> const& hosted, replica_reports<Exec, Recipe, Set> const& reports)
      : hosted_(hosted), reports_(reports) {}

  /// Makes the sums of each replica those of all. Returns whether the norm was measured on the way.
  bool form(auto const& transport) {
    std::vector<double> factors;
    for (std::size_t i = 0; i < hosted_.size(); ++i) {
      auto const& [group, exec] = hosted_[i];
      if constexpr (has_terms) group.sums_.fold(exec, group.policies_.clip, group.divisors().factors(), group.group_);
      factors.push_back(factor_of(hosted_[i], reports_.own(i)));
    }
    if constexpr (overlaps_v<transport_type>) {
      if (reports_.in_pieces()) {
        form_in_pieces(transport);
        return true;
      }
      for (auto const& [group, exec] : hosted_) group.sums_.flush(exec, group.policies_.clip);
    }
    if constexpr (shards_v<transport_type>) {  // they are whole, each member has its part
      for (auto const& [group, exec] : hosted_) group.sums_.model().sums_are_whole(exec, touched_views());
    } else if constexpr (arrival::reduced) {
      for (std::size_t i = 0; i < hosted_.size(); ++i) hosted_[i].group.sums_.shrink(factors[i]);
    } else {
      std::vector<typename exchange::hosted> parts;
      for (std::size_t i = 0; i < hosted_.size(); ++i) {
        auto const& [group, exec] = hosted_[i];
        parts.push_back({exec, &group.sums_.model(), &group.replica_side_.exchange(), factors[i]});
      }
      exchange::run(transport, parts);
      for (auto const& [group, exec] : hosted_) group.sums_.model().sums_are_whole(exec, touched_views());
    }
    return false;
  }

 private:
  [[nodiscard]] std::vector<bool> touched_views() const {
    std::vector<bool> views(hosted_.front().group.sums_.model().directory().size());
    for (std::size_t v = 0; v < views.size(); ++v) views[v] = reports_.touched()[v];
    return views;
  }

  /// The same while what is held is added, and measured on the way.
  void form_in_pieces(auto const& transport) {
    stages& group = hosted_.front().group;
    Exec const& exec = hosted_.front().exec;
    auto& sums = group.sums_;
    auto& model = sums.model();
    auto& exchange_of = group.replica_side_.exchange();
    norm_request const wanted = sums.norm_of_group(group.policies_.clip);
    exit_gate gate{wanted.workers_gone, 0};
    for (piece const& each : exchange_of.pieces()) gate.expected += each.list.template workers<Exec>();
    std::uint8_t const* const all = group.replica_side_.counted().data();
    exchange::run_overlapped(
        transport, {exec, &model, &exchange_of, 1.0},
        [&](piece const& each) {
          sums.flush_piece(exec, group.policies_.clip, each);
          exec.fence("accrue::reduce: a piece is added");
        },
        [&](piece const& each) {
          model.measure_piece("accrue::reduce::norm_of_piece", exec, wanted, each, gate, all);
        });
    sums.note_flushed();
    model.sums_are_whole(exec, std::vector<bool>(model.directory().size(), true));
  }

  /// What the sums of a replica are multiplied by, so that they add up to those of all.
  [[nodiscard]] double factor_of(replica const& which, group_type const& own) const {
    stages& group = which.group;
    double factor = group_divisors<Recipe, group_type>(group.policies_, own).among(group.group_);
    if constexpr (arrival::averaged) factor *= static_cast<double>(reports_.whole().hosted);
    if constexpr (is_on_replica_v<typename Recipe::clip_type>) {
      if (own.contributed > 0) factor *= clip_of_replica(which, own);
    }
    return factor;
  }
  /// What the clip on the replica makes of its own gradient. Fences.
  [[nodiscard]] double clip_of_replica(replica const& which, group_type const& own) const {
    auto const& [group, exec] = which;
    auto const& clip = group.policies_.clip.clip();
    norm_request wanted = group.sums_.norm_of_group(group.policies_.clip);
    wanted.order = norm_order{clip.norm_order()};
    group.sums_.model().measure_sums("accrue::reduce::norm_of_replica", exec, wanted);
    norm_partial const total = group.sums_.scalars().read(exec, "accrue::reduce: read the norm of a replica").total;
    double by = group_divisors<Recipe, group_type>(group.policies_, own).of_sums(static_cast<double>(own.weight));
    if constexpr (scales) by *= reports_.whole().agrees.loss_scale;
    double const norm = norm_of(wanted.order, total, by);
    return total.non_finite == 0 && is_finite(norm) ? clip.factor(norm) : 1.0;
  }

  std::vector<replica> const& hosted_;
  replica_reports<Exec, Recipe, Set> const& reports_;
};

}  // namespace accrue
#endif

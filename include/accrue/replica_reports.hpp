// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_REPLICA_REPORTS_HPP
#define ACCRUE_REPLICA_REPORTS_HPP

#include <accrue/core/replica_report.hpp>
#include <accrue/pipeline.hpp>
#include <accrue/replica_side.hpp>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace accrue {

/// A replica of this process, and the instance its group is closed on.
template <class Exec, class Recipe, class Set>
struct hosted_replica {
  pipeline<Exec, Recipe, Set>& group;
  Exec exec;
};

/// What the replicas of all members hold before their sums become one: each one's own, and all together.
template <class Exec, class Recipe, class Set>
class replica_reports {
  using stages = pipeline<Exec, Recipe, Set>;
  using replica = hosted_replica<Exec, Recipe, Set>;
  using group_type = typename stages::group_type;
  using report = replica_report<group_type>;
  static constexpr bool has_terms = has_terms_v<typename Recipe::normalization_type>;
  static constexpr bool scales = Recipe::loss_scale_type::scales;
  static constexpr bool rejects = Recipe::non_finite_type::rejects;
  static constexpr std::size_t room = has_terms ? 2048 : 512;

 public:
  /// Order: all members make one together. Guarantee: the same on all. Cost: one gather, another one where a replica
  /// left parameters out, and one among partners where groups may be filled again. Failure: `accrue::error` on every
  /// member where one does not agree, with all groups still open.
  replica_reports(std::vector<replica> const& hosted, bool ended, refill_wish wish) : hosted_(hosted) {
    for (replica const& each : hosted) {
      own_.push_back(report_of(each, ended));
      refill_wish& refill = own_.back().report.refill;
      refill = wish;
      if (own_.size() > 1) refill.wanted = refill.failed = 0;  // of a member, said once
      refill.unable = wish.able == 0 && (!ended || each.group.held().value() > 0) ? 1 : 0;
    }
    mine_ = own_.front().report;
    touched_ = own_.front().touched;
    for (std::size_t i = 1; i < own_.size(); ++i) {
      mine_.merge(own_[i].report);
      touched_.merge(own_[i].touched);
    }
    auto const& transport = hosted.front().group.policies_.replicas;
    std::vector<report> const all = gathered(transport, mine_, room);
    require_agreement(transport, all);
    whole_ = all.front();
    for (std::size_t m = 1; m < all.size(); ++m) whole_.merge(all[m]);
    if constexpr (has_partners<typename Recipe::replicas_type>) {
      if (whole_.refill.able > 0) {  // on all partners alike
        std::vector<refill_wish> const all_parts = gathered(transport.partners(), whole_.refill);
        whole_.refill = {};
        for (refill_wish const& each : all_parts) whole_.refill.merge(each);
      }
    }
    bool const is_summed = whole_.refill.wanted == 0 && whole_.refill.failed == 0;
    if (transport.members() > 1 && whole_.partly > 0 && is_summed)
      for (touched_bits const& each : gathered(transport, touched_)) touched_.merge(each);
  }

  [[nodiscard]] group_type const& own(std::size_t hosted) const { return own_[hosted].report.group; }
  [[nodiscard]] report const& whole() const { return whole_; }
  [[nodiscard]] touched_bits const& touched() const { return touched_; }
  /// Whether sums go over piece by piece, while what is held is added: each member hosts one replica whose sums are in
  /// place.
  [[nodiscard]] bool in_pieces() const {
    return whole_.partly == 0 && whole_.ready == whole_.hosted &&
           whole_.hosted == hosted_.front().group.policies_.replicas.members();
  }
  /// Whether no replica has data any more.
  [[nodiscard]] bool all_ended() const { return whole_.ended == whole_.hosted; }
  /// Whether this is the last group of a replica, and holds less than full groups do.
  [[nodiscard]] bool is_short() const {
    if (whole_.ended == 0) return false;
    return whole_.wanted > 0 ? whole_.group.counts.microbatches.value() < whole_.wanted : whole_.unfilled > 0;
  }

 private:
  struct of_replica {
    replica_report<group_type> report;
    touched_bits touched;
  };

  /// What a replica holds; all of it is in its sums then, but for what waits for a transport that overlaps.
  /// All numbers are on the host.
  [[nodiscard]] static of_replica report_of(replica const& which, bool ended) {
    stages& group = which.group;
    Exec const& exec = which.exec;
    group.require_alive();
    group.require_scale_of(1);
    auto& sums = group.sums_;
    if constexpr (!overlaps_v<typename Recipe::replicas_type>) {
      sums.flush(exec, group.policies_.clip);
      sums.settle_gate(exec);
    }
    of_replica found{{}, touched_bits(sums.model().directory().size())};
    report& r = found.report;
    r.group = group.group_;
    r.hosted = 1;
    r.unfilled = group.full() ? 0 : 1;
    r.ended = ended ? 1 : 0;
    if constexpr (requires { group.policies_.boundary.microbatches(); })
      r.wanted = group.policies_.boundary.microbatches().value();
    bring_to_host(group, exec, r);
    std::vector<bool> touched;
    if constexpr (overlaps_v<typename Recipe::replicas_type>) {
      touched = sums.views_touched_with_held();
      r.ready = sums.will_be_at_home() ? 1 : 0;
    } else {
      touched = sums.touched_views(exec);
    }
    std::size_t count = 0;
    for (std::size_t v = 0; v < touched.size(); ++v)
      if (touched[v]) found.touched.set(v), ++count;
    r.partly = count != touched.size() ? 1 : 0;
    r.agrees = {group.replica_side_.recipe(group.policies_),
                group.replica_side_.shapes(),
                static_cast<std::int64_t>(touched.size()),
                group.book_.totals().groups_over_replicas() + 1,
                1.0,
                {},
                {}};
    if constexpr (scales) r.agrees.loss_scale = static_cast<double>(group.scale_.cell().on(exec).value());
    if constexpr (stages::rules::goes_by_data) {
      r.agrees.samples = group.book_.totals().over_replicas().samples;
      r.agrees.tokens = group.book_.totals().over_replicas().tokens;
    }
    return found;
  }
  /// Losses and counts that lie on the device. Cost: one fence, with terms one for each that has losses there.
  static void bring_to_host(stages& group, Exec const& exec, report& r) {
    auto const add_loss = [&](auto& loss, group_scalars const& found) {
      if (loss.on_device) loss.on_host += found.loss;
      loss.on_device = false;
    };
    if constexpr (has_terms) {
      [&]<std::size_t... T>(std::index_sequence<T...>) {
        (add_loss(r.group.template term<T>().loss,
                  r.group.template term<T>().loss.on_device
                      ? group.sums_.losses(T).read(exec, "accrue::reduce: read the loss of a term")
                      : group_scalars{}),
         ...);
      }
      (std::make_index_sequence<group_type::size>{});
    } else if (r.group.loss.on_device || rejects) {
      group_scalars const found = group.sums_.scalars().read(exec, "accrue::reduce: read what a replica found");
      add_loss(r.group.loss, found);
      if constexpr (rejects) {
        if (group.sums_.looked()) r.gate = found.gate;  // else it is that of an earlier group
      }
    }
  }

  /// Failure: `accrue::error` on every member, with all groups still open.
  void require_agreement(auto const& transport, std::vector<report> const& all) const {
    std::int64_t number = 0;
    for (report const& each : all) {
      std::string const of_first = each.agrees.difference(all.front().agrees);
      std::string const difference = of_first.empty() ? each.odd.difference(each.agrees) : of_first;
      bool const differs = !of_first.empty() || each.odd_one > 0;
      if (differs)
        throw error(joined({"accrue: replica ", std::to_string(number + (of_first.empty() ? each.odd_one : 0)), " ",
                            difference, recipes_differ(transport, all)}),
                    "their sums would not be those of one group",
                    "construct all replicas alike, and close the same groups on each");
      number += each.hosted;
    }
  }
  /// What differs in the recipes, if they do: all members come here together.
  [[nodiscard]] std::string recipes_differ(auto const& transport, std::vector<report> const& all) const {
    bool same = true;
    for (report const& each : all)
      same = same && each.agrees.recipe == all.front().agrees.recipe &&
             (each.odd_one == 0 || each.odd.recipe == each.agrees.recipe);
    if (same) return {};
    auto const text_of = [](stages const& group) {
      std::string text;
      for (std::string const& each : policy_texts(group.policies_)) text.append(each).append("\n");
      text.resize(4096, ' ');
      return text;
    };
    auto const odd = static_cast<std::size_t>(mine_.odd_one);
    std::vector<std::string> const firsts = gathered(transport, text_of(hosted_.front().group));
    for (std::string const& each : gathered(transport, text_of(hosted_[odd].group))) {
      std::istringstream theirs(each), of_first(firsts.front());
      for (std::string a, b; std::getline(of_first, a) && std::getline(theirs, b);)
        if (a != b) return joined({": ", b, ", where replica 0 says ", a});
    }
    return {};
  }

  std::vector<replica> const& hosted_;
  std::vector<of_replica> own_;
  report mine_;   ///< of all replicas of this process
  report whole_;  ///< of all
  touched_bits touched_;
};

}  // namespace accrue
#endif

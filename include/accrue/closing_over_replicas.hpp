// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CLOSING_OVER_REPLICAS_HPP
#define ACCRUE_CLOSING_OVER_REPLICAS_HPP

#include <accrue/core/replica_report.hpp>
#include <accrue/passes/sum_exchange.hpp>
#include <accrue/pipeline.hpp>
#include <accrue/replica_side.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace accrue {

/// Closes one group over the replicas of this process and those of other members: two small exchanges and one sum
/// between them.
///
/// First each member says what its replicas hold, and all of them find out whether they agree and what becomes of the
/// group. Then the sums become one. Last each says what it found in it, and the finding of the first member, with
/// everybody's objections, is what all of them decide by.
template <class Exec, class Recipe, class Set>
class closing_over_replicas {
  using stages = pipeline<Exec, Recipe, Set>;
  using group_type = typename stages::group_type;
  using report = replica_report<group_type>;
  using handle = typename stages::handle;
  using last_group = typename Recipe::last_group_type;
  using transport_type = typename Recipe::replicas_type;
  using arrival = typename transport_type::arrival;
  using sums_type = typename stages::sums_type;
  using exchange = typename replica_side<Exec, typename sums_type::model_type, Recipe, false>::exchange_type;
  static constexpr bool has_terms = has_terms_v<typename Recipe::normalization_type>;
  static constexpr bool scales = Recipe::loss_scale_type::scales;
  static constexpr bool rejects = Recipe::non_finite_type::rejects;
  static constexpr std::size_t report_room = has_terms ? 2048 : 512;

 public:
  /// A replica of this process, and the instance its group is closed on.
  struct replica {
    stages& group;
    Exec exec;
  };
  struct result {
    std::vector<handle> closed;  ///< one for each
    bool all_ended;
    bool closed_something;
  };

  /// One group. `ended`: the replicas of this process have no more data.
  static result run(std::vector<replica> const& hosted, bool ended) {
    closing_over_replicas closing(hosted, ended);
    return closing.close();
  }

 private:
  /// What becomes of a group.
  enum class fate { nothing, empty, update, drop, carry };

  closing_over_replicas(std::vector<replica> const& hosted, bool ended)
      : hosted_(hosted), first_(hosted.front().group) {
    for (replica const& each : hosted_) own_.push_back(report_of(each, ended));
    mine_ = own_.front().report;
    touched_ = own_.front().touched;
    for (std::size_t i = 1; i < own_.size(); ++i) {
      mine_.merge(own_[i].report);
      touched_.merge(own_[i].touched);
    }
  }

  struct of_replica {
    accrue::replica_report<group_type> report;
    touched_bits touched;
  };

  /// What a replica holds; all of it is in its sums then, and all numbers are on the host.
  [[nodiscard]] static of_replica report_of(replica const& which, bool ended) {
    stages& group = which.group;
    Exec const& exec = which.exec;
    group.require_alive();
    group.require_scale_of(1);
    auto& sums = group.sums_;
    sums.flush(exec, group.policies_.clip);
    sums.settle_gate(exec);
    of_replica found{{}, touched_bits(sums.model().directory().size())};
    report& r = found.report;
    r.group = group.group_;
    r.hosted = 1;
    r.unfilled = group.full() ? 0 : 1;
    r.ended = ended ? 1 : 0;
    if constexpr (requires { group.policies_.boundary.microbatches(); })
      r.wanted = group.policies_.boundary.microbatches().value();
    bring_to_host(group, exec, r);
    std::vector<bool> const touched = sums.touched_views(exec);
    std::size_t count = 0;
    for (std::size_t v = 0; v < touched.size(); ++v)
      if (touched[v]) found.touched.set(v), ++count;
    r.partly = count != touched.size() ? 1 : 0;
    r.agrees = {group.replica_side_.recipe(group.policies_), group.replica_side_.shapes(),
                static_cast<std::int64_t>(touched.size()), group.book_.totals().groups_over_replicas() + 1, 1.0};
    if constexpr (scales) r.agrees.loss_scale = static_cast<double>(group.scale_.cell().on(exec).value());
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
      if constexpr (rejects) r.gate = found.gate;
    }
  }

  result close() {
    auto const& transport = first_.policies_.replicas;
    std::vector<report> const all = gathered(transport, mine_, report_room);
    require_agreement(transport, all);
    whole_ = all.front();
    for (std::size_t m = 1; m < all.size(); ++m) whole_.merge(all[m]);
    if (transport.members() > 1 && whole_.partly > 0)
      for (touched_bits const& each : gathered(transport, touched_)) touched_.merge(each);

    result done{{}, whole_.ended == whole_.hosted, false};
    fate const what = fate_of_group();
    if (what == fate::nothing || what == fate::carry) {
      for (auto const& [group, exec] : hosted_) {
        if (what == fate::carry) group.book_.totals().book_carried();
        done.closed.push_back(
            group.book_.nothing_closed(exec, what == fate::carry ? outcome::carried : outcome::empty));
      }
      return done;
    }
    done.closed_something = true;
    try {
      for (std::size_t i = 0; i < hosted_.size(); ++i) take_whole(hosted_[i].group, own_[i].report.group);
      if (what == fate::update)
        update(transport, done);
      else
        for (auto const& [group, exec] : hosted_)
          done.closed.push_back(group.close_known(exec, what == fate::drop ? outcome::dropped_last : outcome::empty));
    } catch (...) {  // of a transport, or of a function of the user: the sums are no longer those of this replica
      for (std::size_t i = done.closed.size(); i < hosted_.size(); ++i) hosted_[i].group.open_next();
      throw;
    }
    return done;
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
    std::vector<std::string> const firsts = gathered(transport, text_of(first_));
    for (std::string const& each : gathered(transport, text_of(hosted_[odd].group))) {
      std::istringstream theirs(each), of_first(firsts.front());
      for (std::string a, b; std::getline(of_first, a) && std::getline(theirs, b);)
        if (a != b) return joined({": ", b, ", where replica 0 says ", a});
    }
    return {};
  }

  [[nodiscard]] fate fate_of_group() const {
    std::int64_t const held = whole_.group.counts.microbatches.value();
    if (held == 0) return fate::nothing;
    bool const all_ended = whole_.ended == whole_.hosted;
    if (is_short()) {
      if (last_group::action == last_group_action::drop) return fate::drop;
      if (last_group::action == last_group_action::carry && all_ended) return fate::carry;
      if (last_group::action == last_group_action::refuse)
        throw error(joined({"accrue: the data of ", std::to_string(whole_.ended), " of ", std::to_string(whole_.hosted),
                            " replicas end in a group of ", std::to_string(held), " microbatches that is not full"}),
                    "the recipe says refuse_last", "update(), discard(), or feed what is missing");
    }
    return whole_.group.contributed > 0 && touched_.any() ? fate::update : fate::empty;
  }
  /// Whether this is the last group of a replica, and holds less than full groups do.
  [[nodiscard]] bool is_short() const {
    if (whole_.ended == 0) return false;
    return whole_.wanted > 0 ? whole_.group.counts.microbatches.value() < whole_.wanted : whole_.unfilled > 0;
  }

  /// From here on the open group of a replica is that of all of them.
  void take_whole(stages& group, group_type const& own) {
    group.own_ = own.counts;
    group.group_ = whole_.group;
    group.divisors().check_closing();
    if constexpr (has_terms) group.group_.combine(group.divisors().factors());
  }

  void update(auto const& transport, result& done) {
    form_sums(transport);

    double divided = first_.divisors().weight();
    bool pads = false;
    if constexpr (pads_weight<last_group>) {
      pads = is_short();
      if (pads)
        divided = first_.policies_.last_group.padded_weight(divided, first_.held(), microbatches{whole_.wanted});
    }
    for (replica const& each : hosted_) find(each, divided, pads);
    decide_together(transport);

    for (auto const& [group, exec] : hosted_) group.announce_closing();
    std::exception_ptr thrown;
    for (auto const& [group, exec] : hosted_) {
      try {
        group.sums_.note_measured(true);
        companions decided;
        decided.verdicts[0] = group.verdict();
        decided.count = 1;
        done.closed.push_back(group.attempt(exec, divided, pads, decided, false));
      } catch (...) {  // of a function of the user: the group is closed, here as on the others
        if (!thrown) thrown = std::current_exception();
        done.closed.push_back(group.book_.nothing_closed(exec, outcome::applied));
      }
    }
    if (thrown) std::rethrow_exception(thrown);
    for (auto const& [group, exec] : hosted_) group.stop_where_asked();
  }

  /// Makes the sums of each replica those of all.
  void form_sums(auto const& transport) {
    std::vector<double> factors;
    for (std::size_t i = 0; i < hosted_.size(); ++i) {
      auto const& [group, exec] = hosted_[i];
      if constexpr (has_terms) group.sums_.fold(exec, group.policies_.clip, group.divisors().factors(), group.group_);
      factors.push_back(factor_of(hosted_[i], own_[i].report.group));
    }
    if constexpr (arrival::reduced) {
      for (std::size_t i = 0; i < hosted_.size(); ++i) hosted_[i].group.sums_.shrink(factors[i]);
    } else {
      std::vector<typename exchange::hosted> parts;
      for (std::size_t i = 0; i < hosted_.size(); ++i) {
        auto const& [group, exec] = hosted_[i];
        parts.push_back({exec, &group.sums_.model(), &group.replica_side_.exchange(), factors[i]});
      }
      exchange::run(transport, parts);
      std::vector<bool> views(first_.sums_.model().directory().size());
      for (std::size_t v = 0; v < views.size(); ++v) views[v] = touched_[v];
      for (auto const& [group, exec] : hosted_) group.sums_.model().sums_are_whole(exec, views);
    }
  }

  /// What the sums of a replica are multiplied by, so that they add up to those of all.
  [[nodiscard]] double factor_of(replica const& which, group_type const& own) const {
    stages& group = which.group;
    double factor = group_divisors<Recipe, group_type>(group.policies_, own).among(group.group_);
    if constexpr (arrival::averaged) factor *= static_cast<double>(whole_.hosted);
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
    if constexpr (scales) by *= own_[0].report.agrees.loss_scale;
    double const norm = norm_of(wanted.order, total, by);
    return total.non_finite == 0 && is_finite(norm) ? clip.factor(norm) : 1.0;
  }

  /// Measures the whole sum, and what this replica would decide by itself.
  void find(replica const& which, double divided, bool pads) {
    auto const& [group, exec] = which;
    auto const& scalars = group.sums_.scalars();
    if constexpr (rejects) {
      group_scalars numbers = scalars.read(exec, "accrue::reduce: read before an exchange");
      numbers.gate = whole_.gate;
      scalars.write(exec, &numbers);
      exec.fence("accrue::reduce: write what was let through");
    }
    group.sums_.note_measured(false);
    if constexpr (has_partners<transport_type>) measure_with_partners(which);
    static_cast<void>(group.give_verdict(exec, divided, pads));
    group_scalars const found = scalars.read(exec, "accrue::reduce: read what a replica found");
    if (&group == &first_)
      finding_ = {found.total, found.verdict};
    else
      finding_.verdict = stricter(finding_.verdict, found.verdict);
  }
  /// Brings the norm of the whole model to where the decision looks for it.
  void measure_with_partners(replica const& which) {
    auto const& [group, exec] = which;
    auto const& partners = group.policies_.replicas.partners();
    auto& model = group.sums_.model();
    bool const counts_common = partners.member() == 0;
    std::vector<std::uint8_t> counted(model.directory().size());
    for (std::size_t v = 0; v < counted.size(); ++v) {
      directory_entry const& entry = model.directory()[v];
      counted[entry.number] = touched_[v] && (counts_common || !entry.in_common) ? 1 : 0;
    }
    device_array<std::uint8_t, Exec>& flags = group.replica_side_.counted();
    flags.write(exec, counted.data());
    norm_request const wanted = group.sums_.norm_of_group(group.policies_.clip);
    model.measure_sums("accrue::reduce::norm_of_part", exec, wanted, flags.data());
    auto const& scalars = group.sums_.scalars();
    group_scalars numbers = scalars.read(exec, "accrue::reduce: read the norm of a part");
    norm_partial whole;
    for (norm_partial const& part : gathered(partners, numbers.total)) whole = merged(wanted.order, whole, part);
    numbers.total = whole;
    scalars.write(exec, &numbers);
    exec.fence("accrue::reduce: write the norm of the whole");
    group.sums_.note_measured(true);
  }
  /// The finding of the first member, with everybody's objections, on all of them.
  void decide_together(auto const& transport) {
    if constexpr (has_partners<transport_type>)
      for (group_verdict const& each : gathered(transport.partners(), finding_.verdict))
        finding_.verdict = stricter(finding_.verdict, each);
    std::vector<replica_finding> const all = gathered(transport, finding_);
    replica_finding common = all.front();
    for (replica_finding const& each : all) {
      common.verdict = stricter(common.verdict, each.verdict);
      common.total.non_finite |= each.total.non_finite;
    }
    for (auto const& [group, exec] : hosted_) {
      auto const& scalars = group.sums_.scalars();
      group_scalars numbers = scalars.read(exec, "accrue::reduce: read before a decision");
      numbers.total = common.total;
      numbers.verdict = common.verdict;
      scalars.write(exec, &numbers);
      exec.fence("accrue::reduce: write the decision");
    }
  }
  [[nodiscard]] static group_verdict stricter(group_verdict const& a, group_verdict const& b) {
    auto const rank = [](outcome o) {
      return o == outcome::skipped_non_finite ? 3 : o == outcome::vetoed ? 2 : o == outcome::applied ? 1 : 0;
    };
    return {rank(a.result) >= rank(b.result) ? a.result : b.result, a.overflows | b.overflows};
  }

  std::vector<replica> const& hosted_;
  stages& first_;
  std::vector<of_replica> own_;
  report mine_;   ///< of all replicas of this process
  report whole_;  ///< of all
  touched_bits touched_;
  replica_finding finding_;
};

}  // namespace accrue
#endif

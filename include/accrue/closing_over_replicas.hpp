// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CLOSING_OVER_REPLICAS_HPP
#define ACCRUE_CLOSING_OVER_REPLICAS_HPP

#include <accrue/core/replica_report.hpp>
#include <accrue/passes/sum_exchange.hpp>
#include <accrue/pipeline.hpp>
#include <accrue/replica_reports.hpp>
#include <accrue/replica_side.hpp>
#include <accrue/sharding.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
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
  using handle = typename stages::handle;
  using last_group = typename Recipe::last_group_type;
  using transport_type = typename Recipe::replicas_type;
  using arrival = typename transport_type::arrival;
  using sums_type = typename stages::sums_type;
  using exchange = typename replica_side<Exec, typename sums_type::model_type, Recipe, false>::exchange_type;
  static constexpr bool has_terms = has_terms_v<typename Recipe::normalization_type>;
  static constexpr bool scales = Recipe::loss_scale_type::scales;
  static constexpr bool rejects = Recipe::non_finite_type::rejects;

 public:
  using replica = hosted_replica<Exec, Recipe, Set>;
  struct result {
    std::vector<handle> closed;  ///< one for each
    bool all_ended;
    bool closed_something;
    std::int64_t refill = 0;  ///< nothing was closed: fill the group again, in microbatches of at most so many samples
  };

  /// One group. `ended`: the replicas of this process have no more data.
  static result run(std::vector<replica> const& hosted, bool ended, refill_wish const& wish = {}) {
    if constexpr (shards_v<transport_type>)
      sharding<Exec, Recipe, Set>::finish(hosted.front().group, hosted.front().exec);
    closing_over_replicas closing(hosted, ended, wish);
    return closing.close();
  }

 private:
  /// What becomes of a group.
  enum class fate { nothing, empty, update, drop, carry };

  closing_over_replicas(std::vector<replica> const& hosted, bool ended, refill_wish const& wish)
      : hosted_(hosted), first_(hosted.front().group), reports_(hosted, ended, wish) {}

  result close() {
    auto const& transport = first_.policies_.replicas;
    result done{{}, reports_.all_ended(), false};
    if (is_refilled()) {
      for (auto const& [group, exec] : hosted_) done.closed.push_back(group.book_.nothing_closed(exec, outcome::empty));
      done.refill = reports_.whole().refill.microbatch;
      return done;
    }
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
    if (what == fate::update) check_closing();
    for (std::size_t i = 0; i < hosted_.size(); ++i) take_whole(hosted_[i].group, reports_.own(i));
    if (what == fate::update) announce();
    try {
      if (what == fate::update)
        update(transport, done);
      else
        for (auto const& [group, exec] : hosted_)
          done.closed.push_back(group.close_known(exec, what == fate::drop ? outcome::dropped_last : outcome::empty));
    } catch (...) {  // of a transport, or of a function of the user: the sums are no longer those of this replica
      for (std::size_t i = done.closed.size(); i < hosted_.size(); ++i) give_up(hosted_[i]);
      throw;
    }
    return done;
  }

  /// Whether the group did not fit into the memory of a replica, and all fill theirs again.
  ///
  /// Failure: `accrue::error` on every member where one cannot, with all groups still open.
  [[nodiscard]] bool is_refilled() const {
    refill_wish const& wish = reports_.whole().refill;
    if (wish.failed > 0)
      throw error(joined({"accrue: ", std::to_string(wish.failed), " of the members could not fill their group"}),
                  "the others have nothing to add theirs to", "see the error of the one that failed");
    if (wish.wanted > 0 && wish.unable > 0)
      throw error(joined({"accrue: the group did not fit into the memory of ", std::to_string(wish.wanted),
                          " of the members, and ", std::to_string(wish.unable),
                          " replicas do not know how to fill theirs again"}),
                  "all of them have to start the group again", "use accrue::fitting_microbatches on every replica");
    return wish.wanted > 0;
  }
  [[nodiscard]] fate fate_of_group() const {
    auto const& whole = reports_.whole();
    std::int64_t const held = whole.group.counts.microbatches.value();
    if (held == 0) return fate::nothing;
    if (reports_.is_short()) {
      if (last_group::action == last_group_action::drop) return fate::drop;
      if (last_group::action == last_group_action::carry && reports_.all_ended()) return fate::carry;
      if (last_group::action == last_group_action::refuse)
        throw error(joined({"accrue: the data of ", std::to_string(whole.ended), " of ", std::to_string(whole.hosted),
                            " replicas end in a group of ", std::to_string(held), " microbatches that is not full"}),
                    "the recipe says refuse_last", "update(), discard(), or feed what is missing");
    }
    // Where all was rejected the loss scale has to know; what partners touched, this one does not know.
    bool const goes_on = rejects || has_partners<transport_type> || reports_.touched().any();
    return whole.group.contributed > 0 && goes_on ? fate::update : fate::empty;
  }
  /// Tells observers; if one of them throws, all groups are open as they were.
  void announce() {
    try {
      for (auto const& [group, exec] : hosted_) group.announce_closing();
    } catch (...) {
      for (std::size_t i = 0; i < hosted_.size(); ++i) {
        hosted_[i].group.group_ = reports_.own(i);
        hosted_[i].group.own_.reset();
      }
      throw;
    }
  }
  /// Discards a group whose sums are lost.
  static void give_up(replica const& which) noexcept {
    auto const& [group, exec] = which;
    try {
      if constexpr (overlaps_v<transport_type>) {  // workers of pieces that were not measured are not awaited any more
        group_scalars numbers = group.sums_.scalars().read(exec, "accrue::reduce: read before a group is given up");
        numbers.workers_gone = 0;
        group.sums_.scalars().write(exec, &numbers);
        exec.fence("accrue::reduce: a group is given up");
      }
      static_cast<void>(group.close_known(exec, outcome::discarded));
    } catch (...) {
      group.open_next();
    }
  }

  /// Failure: `accrue::error` where the weight of all is not the one that was announced, or contributions are too many.
  void check_closing() const {
    auto const& group = reports_.whole().group;
    group_divisors<Recipe, group_type>(first_.policies_, group).check_closing();
    std::int64_t products = group.contributed;
    if constexpr (has_terms) products *= static_cast<std::int64_t>(group_type::size);
    refuse_too_many<typename Recipe::summation_type>(products);
  }

  /// From here on the open group of a replica is that of all of them.
  void take_whole(stages& group, group_type const& own) {
    group.own_ = own.counts;
    group.group_ = reports_.whole().group;
    if constexpr (has_terms) group.group_.combine(group.divisors().factors());
  }

  void update(auto const& transport, result& done) {
    form_sums(transport);

    double divided = first_.divisors().weight();
    bool pads = false;
    if constexpr (pads_weight<last_group>) {
      pads = reports_.is_short();
      if (pads)
        divided =
            first_.policies_.last_group.padded_weight(divided, first_.held(), microbatches{reports_.whole().wanted});
    }
    for (replica const& each : hosted_) find(each, divided, pads);
    decide_together(transport);

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
    if constexpr (shards_v<transport_type>) {
      if (applies_)
        first_.replica_side_.exchange().gather_parameters(transport, hosted_.front().exec, first_.sums_.model());
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
      factors.push_back(factor_of(hosted_[i], reports_.own(i)));
    }
    if constexpr (overlaps_v<transport_type>) {
      if (reports_.in_pieces()) return form_sums_in_pieces(transport);
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
  }

  [[nodiscard]] std::vector<bool> touched_views() const {
    std::vector<bool> views(first_.sums_.model().directory().size());
    for (std::size_t v = 0; v < views.size(); ++v) views[v] = reports_.touched()[v];
    return views;
  }

  /// The same while what is held is added, and measured on the way.
  void form_sums_in_pieces(auto const& transport) {
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
    measured_ = true;
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

  /// Measures the whole sum, and what this replica would decide by itself.
  void find(replica const& which, double divided, bool pads) {
    auto const& [group, exec] = which;
    auto const& scalars = group.sums_.scalars();
    if constexpr (rejects) {
      group_scalars numbers = scalars.read(exec, "accrue::reduce: read before an exchange");
      numbers.gate = reports_.whole().gate;
      scalars.write(exec, &numbers);
      exec.fence("accrue::reduce: write what was let through");
    }
    group.sums_.note_measured(measured_);
    if constexpr (has_partners<transport_type>) measure_with_partners(which);
    if constexpr (shards_v<transport_type>) {
      norm_request const wanted = group.sums_.norm_of_group(group.policies_.clip);
      group.sums_.model().measure_sums("accrue::reduce::norm_of_part", exec, wanted);
      merge_parts(which, group.policies_.replicas, wanted.order);
    }
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
      counted[entry.number] = reports_.touched()[v] && (counts_common || !entry.in_common) ? 1 : 0;
    }
    device_array<std::uint8_t, Exec>& flags = group.replica_side_.counted();
    flags.write(exec, counted.data());
    norm_request const wanted = group.sums_.norm_of_group(group.policies_.clip);
    if constexpr (value_is_late_v<typename Recipe::summation_type>)  // all values go to the buffer, counted or not
      model.measure_sums("accrue::reduce::settle", exec, wanted);
    model.measure_sums("accrue::reduce::norm_of_part", exec, wanted, flags.data());
    merge_parts(which, partners, wanted.order);
  }
  /// Makes the norm of a part that of the whole, whose parts `others` have measured.
  static void merge_parts(replica const& which, auto const& others, norm_order order) {
    auto const& [group, exec] = which;
    auto const& scalars = group.sums_.scalars();
    group_scalars numbers = scalars.read(exec, "accrue::reduce: read the norm of a part");
    norm_partial whole;
    for (norm_partial const& part : gathered(others, numbers.total)) whole = merged(order, whole, part);
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
    applies_ = common.verdict.result == outcome::applied;
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
  replica_reports<Exec, Recipe, Set> reports_;
  replica_finding finding_;
  bool measured_ = false;  ///< the norm of the whole is there
  bool applies_ = false;   ///< all of them update
};

}  // namespace accrue
#endif

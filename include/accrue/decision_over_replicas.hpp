// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DECISION_OVER_REPLICAS_HPP
#define ACCRUE_DECISION_OVER_REPLICAS_HPP

#include <accrue/core/replica_report.hpp>
#include <accrue/pipeline.hpp>
#include <accrue/replica_reports.hpp>
#include <accrue/replica_side.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace accrue {

/// One decision about a group for all replicas: each says what it found in the whole sum, and the finding of the first
/// member, with everybody's objections, is what all of them decide by.
template <class Exec, class Recipe, class Set>
class decision_over_replicas {
  using replica = hosted_replica<Exec, Recipe, Set>;
  using transport_type = typename Recipe::replicas_type;
  static constexpr bool rejects = Recipe::non_finite_type::rejects;

 public:
  /// `measured`: the norm of the whole is there.
  decision_over_replicas(std::vector<replica> const& hosted, replica_reports<Exec, Recipe, Set> const& reports,
                         bool measured)
      : hosted_(hosted), reports_(reports), measured_(measured) {}

  /// Returns whether all of them update; the mean objective divides by `divided`.
  bool make(auto const& transport, double divided, bool pads) {
    for (replica const& each : hosted_) find(each, divided, pads);
    decide_together(transport);
    return applies_;
  }

 private:
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
    if (&group == &hosted_.front().group)
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
  replica_reports<Exec, Recipe, Set> const& reports_;
  replica_finding finding_;
  bool measured_;
  bool applies_ = false;
};

}  // namespace accrue
#endif

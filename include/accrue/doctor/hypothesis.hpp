// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_HYPOTHESIS_HPP
#define ACCRUE_DOCTOR_HYPOTHESIS_HPP

#include <accrue/doctor/diagnosis.hpp>
#include <accrue/doctor/loop_terms.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace accrue::doctor {

/// One way to form a group's gradient: the first of each enumeration is right, every other one is a mistake.
///
/// In the texts g is the mean gradient of a microbatch, c its count, p its positions, N the sum of counts, P of
/// positions, G the gradient as it should be, before clipping; k are the microbatches of a group on one replica, A
/// those of a full one, D replicas, S the loss scale.
struct hypothesis {
  enum class weighing : std::uint8_t {
    by_count,
    equally,
    equally_over_replicas,
    by_positions,
    over_positions,
    by_other_unit
  };
  enum class factor : std::uint8_t {
    one,
    over_held,
    over_nominal,
    times_held,
    times_nominal,
    times_scale,
    over_scale,
    times_replicas,
    over_replicas,
  };
  enum class scope : std::uint8_t {
    whole_group,
    last_weighted,  ///< the last microbatch of each replica, with its share
    last_alone,
    nothing,
    onto_handed_over,  ///< added to the gradient that the former group ended with
    onto_unscaled,     ///< the same, which was unscaled already and is unscaled again
    onto_gradients,    ///< to those of all former groups, as they were before clipping
    onto_sums,         ///< to the former sums, divided by the count of this group
    onto_sums_and_counts,
  };
  enum class clipping : std::uint8_t {
    whole_group,
    each,           ///< g, before it is weighed
    each_weighted,  ///< what a microbatch adds
    running,        ///< the sum so far, after each microbatch
    replica,
    over_held,  ///< the sum, that is then divided by k
    over_all,   ///< by k D
    over_nominal,
    over_count,
    scaled,
    none,
  };

  /// A factor too many, before or after clipping.
  struct scaling {
    factor by = factor::one;
    bool after_clip = false;
    friend bool operator==(scaling const&, scaling const&) = default;
  };

  weighing weights = weighing::by_count;
  scaling times;
  scaling times_too;
  bool nominal_tail = false;
  scope holds = scope::whole_group;
  clipping clips = clipping::whole_group;

  friend bool operator==(hypothesis const&, hypothesis const&) = default;

  [[nodiscard]] bool carries() const { return holds >= scope::onto_handed_over; }

  /// The mistakes it stands for.
  [[nodiscard]] std::vector<diagnosis> mistakes() const {
    std::vector<diagnosis> list;
    auto const of = [&](auto value, std::initializer_list<diagnosis> by_value) {
      if (auto const at = static_cast<std::size_t>(value); at > 0) list.push_back(by_value.begin()[at - 1]);
    };
    using enum diagnosis;
    of(weights,
       {mean_of_means, mean_of_replica_means, ignored_positions_counted, ignored_positions_counted, other_unit});
    for (factor const by : {times.by, times_too.by})
      of(by, {divided_twice, divided_twice, not_divided, not_divided, never_unscaled, unscaled_twice,
              world_size_missing, world_size_twice});
    of(nominal_tail, {last_group_divided_by_full});
    of(holds, {cleared_after_every_microbatch, cleared_after_every_microbatch, cleared_after_every_microbatch,
               not_cleared_between_groups, not_cleared_between_groups, not_cleared_between_groups,
               not_cleared_between_groups, not_cleared_between_groups});
    of(clips, {clipped_per_microbatch, clipped_per_microbatch, clipped_per_microbatch, clipped_per_replica,
               clipped_before_division, clipped_before_division, clipped_before_division, clipped_before_division,
               clipped_before_unscaling, not_clipped});
    return list;
  }

  /// What it computes.
  [[nodiscard]] std::string formula() const {
    constexpr std::string_view sums[] = {
        "sum of c g / N", "sum of g / (k D)", "mean over the replicas of sum of c g / sum of c",
        "sum of p g / P", "sum of c g / P",   "mean of g weighed by the other unit"};
    constexpr std::string_view factors[] = {"", " / k", " / A", " * k", " * A", " * S", " / S", " * D", " / D"};
    constexpr std::string_view scopes[] = {"",
                                           ", of the last microbatch only",
                                           ", of the last microbatch only, which counts as the whole group",
                                           ", and then cleared",
                                           ", added to what the former group ended with",
                                           ", added to what the former group ended with, divided by S again",
                                           ", added to those of all former groups",
                                           ", with the sums of all former groups",
                                           ", with the sums and counts of all former groups"};
    constexpr std::string_view clips_by[] = {"",
                                             ", each g clipped",
                                             ", each addend clipped",
                                             ", clipped after each microbatch",
                                             ", clipped on each replica",
                                             ", clipped before the division by k",
                                             ", clipped before the division by k D",
                                             ", clipped before the division by A D",
                                             ", clipped before the division by N",
                                             ", clipped as multiplied by S",
                                             ", not clipped"};
    std::string text(sums[static_cast<std::size_t>(weights)]);
    for (scaling const& each : {times, times_too})
      if (!each.after_clip) text += factors[static_cast<std::size_t>(each.by)];
    if (nominal_tail) text += " * k / A";
    text += scopes[static_cast<std::size_t>(holds)];
    text += clips_by[static_cast<std::size_t>(clips)];
    for (scaling const& each : {times, times_too})
      if (each.after_clip) text.append(", then").append(factors[static_cast<std::size_t>(each.by)]);
    return text;
  }

  /// Both mistakes; none where both say something of the same.
  [[nodiscard]] std::optional<hypothesis> with(hypothesis const& other) const {
    hypothesis both = *this;
    hypothesis const right;
    bool clash = false;
    auto const take = [&](auto& mine, auto const& theirs, auto const& usual) {
      clash = clash || (mine != usual && theirs != usual);
      if (theirs != usual) mine = theirs;
    };
    take(both.weights, other.weights, right.weights);
    take(both.nominal_tail, other.nominal_tail, right.nominal_tail);
    take(both.holds, other.holds, right.holds);
    take(both.clips, other.clips, right.clips);
    if (times.by == factor::one)
      both.times = other.times;
    else
      both.times_too = other.times;
    clash = clash || (both.times_too.by != factor::one && of_one_kind(both.times.by, both.times_too.by));
    if (clash) return std::nullopt;
    return both;
  }

 private:
  /// Whether both say how often something is divided by the same number.
  [[nodiscard]] static bool of_one_kind(factor a, factor b) {
    auto const kind = [](factor f) { return f < factor::times_scale ? 0 : f < factor::times_replicas ? 1 : 2; };
    return kind(a) == kind(b);
  }
};

/// All that are one mistake, among those that can make a difference under these terms.
[[nodiscard]] inline std::vector<hypothesis> single_mistakes(loop_terms const& terms, bool clips) {
  using h = hypothesis;
  std::vector<hypothesis> list;
  auto const add = [&](auto member, auto first, auto last) {
    for (auto v = static_cast<int>(first); v <= static_cast<int>(last); ++v)
      list.emplace_back().*member = static_cast<decltype(first)>(v);
  };
  bool const many = terms.replicas > 1;
  add(&h::weights, h::weighing::equally, h::weighing::equally);
  if (many) add(&h::weights, h::weighing::equally_over_replicas, h::weighing::equally_over_replicas);
  add(&h::weights, h::weighing::by_positions, h::weighing::by_other_unit);
  for (bool const after_clip : {false, true}) {
    if (after_clip && !clips) continue;
    for (auto v = static_cast<int>(h::factor::over_held); v <= static_cast<int>(h::factor::over_replicas); ++v) {
      auto const by = static_cast<h::factor>(v);
      bool const of_scale = by == h::factor::times_scale || by == h::factor::over_scale;
      bool const of_replicas = by == h::factor::times_replicas || by == h::factor::over_replicas;
      if (of_scale ? terms.loss_scale != 1.0 : of_replicas ? many : terms.microbatches > 1)
        list.emplace_back().times = {by, after_clip};
    }
  }
  if (clips) {
    add(&h::clips, h::clipping::each, h::clipping::running);
    if (many) add(&h::clips, h::clipping::replica, h::clipping::replica);
    add(&h::clips, h::clipping::over_held, h::clipping::over_count);
    if (terms.loss_scale != 1.0) add(&h::clips, h::clipping::scaled, h::clipping::scaled);
    add(&h::clips, h::clipping::none, h::clipping::none);
  }
  if (terms.microbatches > 1) list.emplace_back().nominal_tail = true;
  add(&h::holds, h::scope::last_weighted, h::scope::onto_handed_over);
  if (terms.loss_scale != 1.0) add(&h::holds, h::scope::onto_unscaled, h::scope::onto_unscaled);
  add(&h::holds, h::scope::onto_gradients, h::scope::onto_sums_and_counts);
  return list;
}

}  // namespace accrue::doctor
#endif

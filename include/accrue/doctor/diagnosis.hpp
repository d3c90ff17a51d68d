// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_DIAGNOSIS_HPP
#define ACCRUE_DOCTOR_DIAGNOSIS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string_view>

namespace accrue::doctor {

/// A mistake that the doctor knows by its marks.
enum class diagnosis : std::uint8_t {
  // of the function that gives a microbatch's gradient
  random,                  ///< two runs of the same examples differ
  adds_to_gradient,        ///< each run adds to what the former left
  depends_on_order,        ///< the same examples in another order give something else
  batch_statistics,        ///< what an example gives depends on its company
  count_depends_on_split,  ///< the counts of the parts do not add up to that of the whole
  sum_called_mean,
  mean_called_sum,
  other_unit,                 ///< averaged over samples where tokens are counted, or the other way round
  ignored_positions_counted,  ///< also of a loop
  // of both
  not_finite,
  parameters_changed,
  // of a loop that accumulates a group
  mean_of_means,
  mean_of_replica_means,
  divided_twice,
  not_divided,
  last_group_divided_by_full,
  not_cleared_between_groups,
  cleared_after_every_microbatch,
  clipped_per_microbatch,
  clipped_per_replica,
  clipped_before_division,
  clipped_before_unscaling,
  not_clipped,
  never_unscaled,
  unscaled_twice,
  world_size_missing,
  world_size_twice,
  unexplained,
  // of counters, and of what an update did
  counters_differ,
  boundary_differs,
  nothing_moved,
  moved_without_update,
  moved_otherwise,
  parameters_not_finite,
};

/// What a diagnosis means, whatever the numbers.
struct advice {
  diagnosis of;
  std::string_view name;
  std::string_view why;
  std::string_view way_out;
};

/// One entry for each diagnosis, in their order.
inline constexpr std::array all_advice{
    advice{
        diagnosis::random, "random",
        "something is drawn anew in each run: dropout, noise, a random mask; no split can be compared with the whole",
        "for the examination seed it by the example, or switch it off"},
    advice{diagnosis::adds_to_gradient, "adds_to_gradient",
           "each run differs from the former by the same gradient: the backward pass adds to its views",
           "clear the views before each backward pass, or let it overwrite them; accrue adds microbatches up itself"},
    advice{
        diagnosis::depends_on_order, "depends_on_order",
        "runs repeat, but the same examples in another order give another gradient: random numbers drawn by place in "
        "the microbatch (dropout with a fixed seed), or state that goes from one example to the next",
        "seed by the example's number, not by its place; clear state between examples"},
    advice{
        diagnosis::batch_statistics, "batch_statistics",
        "runs repeat and order does not matter, but no weighting of the parts gives the whole: what an example gives "
        "depends on the others in its microbatch, as with batch normalization, contrastive losses, or examples that "
        "are left out at the edge",
        "use statistics that do not depend on the microbatch (layer or group normalization, frozen statistics), or "
        "accept that every split is another objective"},
    advice{
        diagnosis::count_depends_on_split, "count_depends_on_split",
        "the same examples count differently when they are cut otherwise; mostly padding is counted, which depends on "
        "the longest of a microbatch",
        "count what has a target: supervised tokens, and padding as ignored_tokens"},
    advice{diagnosis::sum_called_mean, "sum_called_mean",
           "the parts add up to the whole without weights: the gradient is that of the sum of the losses",
           "hand it over as sum_gradient, or divide the loss by the count"},
    advice{diagnosis::mean_called_sum, "mean_called_sum",
           "the parts give the whole only when each is multiplied by its count: the gradient is that of the mean loss",
           "hand it over as mean_gradient, or do not divide the loss"},
    advice{diagnosis::other_unit, "other_unit",
           "the weights that fit are those of another unit: samples instead of tokens, or tokens instead of samples",
           "divide by the unit that the normalization names, or choose the normalization that fits the loss"},
    advice{
        diagnosis::ignored_positions_counted, "ignored_positions_counted",
        "the weights that fit are all positions, those without a target included, so that padding dilutes the gradient",
        "divide by the number of targets that count, not by the number of positions"},
    advice{diagnosis::not_finite, "not_finite", "NaN and Inf spread: a group that holds one is lost",
           "look at the loss of these examples; divide by a count only where it is above 0; lower the loss scale"},
    advice{diagnosis::parameters_changed, "parameters_changed",
           "all microbatches of a group must see the same parameters, or their sum is the gradient of no loss",
           "update once, after the last microbatch of the group; keep running statistics out of the parameters"},
    advice{diagnosis::mean_of_means, "mean_of_means",
           "each microbatch counts alike, however much is in it: an example in a small one weighs more",
           "weigh each mean by its count and divide by the sum of the counts (per_token, per_sample)"},
    advice{diagnosis::mean_of_replica_means, "mean_of_replica_means",
           "each replica divides by its own count, and the replicas' means count alike",
           "sum gradients and counts over the replicas, and divide once"},
    advice{diagnosis::divided_twice, "divided_twice",
           "the gradient is too small by the number of microbatches: it was a mean already, and was divided again",
           "divide once: leave the loss as it is and normalize the sum, or the other way round"},
    advice{diagnosis::not_divided, "not_divided",
           "the gradient is too large by the number of microbatches: their means were added and never divided",
           "divide by the sum of the counts; a learning rate that makes up for it changes with the group"},
    advice{
        diagnosis::last_group_divided_by_full, "last_group_divided_by_full",
        "a short group is too small by the share of it that is there: it is divided by the number of microbatches of a "
        "full one",
        "divide by what the group really holds (keep_last), or say that this is wanted (pad_last)"},
    advice{diagnosis::not_cleared_between_groups, "not_cleared_between_groups",
           "a group's gradient holds those of the groups before it", "clear the sums after each update"},
    advice{diagnosis::cleared_after_every_microbatch, "cleared_after_every_microbatch",
           "of all microbatches only the last one is left, or none: the sums are cleared inside the group",
           "clear the sums after the update, not after the backward pass"},
    advice{diagnosis::clipped_per_microbatch, "clipped_per_microbatch",
           "what is clipped before it is summed changes the direction of the sum, not only its length",
           "clip once, when the group is complete"},
    advice{diagnosis::clipped_per_replica, "clipped_per_replica",
           "what is clipped before replicas are summed changes the direction of the sum",
           "reduce first, then clip the gradient of all replicas; or say that this is wanted (on_replica)"},
    advice{diagnosis::clipped_before_division, "clipped_before_division",
           "the bound was compared with a sum, which grows with the group; divided afterwards it is too small",
           "divide first, then clip"},
    advice{
        diagnosis::clipped_before_unscaling, "clipped_before_unscaling",
        "the bound was compared with a gradient that still held the loss scale, so that nearly everything is clipped",
        "divide by the loss scale first, then clip"},
    advice{diagnosis::not_clipped, "not_clipped", "the gradient is longer than its bound", "clip it before the update"},
    advice{diagnosis::never_unscaled, "never_unscaled", "the gradient still holds the loss scale",
           "divide by it once, before clipping and before the update"},
    advice{diagnosis::unscaled_twice, "unscaled_twice", "the gradient was divided by the loss scale once too often",
           "divide by it in one place: once a group, not by hand and by the scaler as well"},
    advice{diagnosis::world_size_missing, "world_size_missing",
           "the gradient is too large by the number of replicas: they were summed and not averaged",
           "divide by the counts of all replicas, or by their number where each has its mean"},
    advice{diagnosis::world_size_twice, "world_size_twice",
           "the gradient is too small by the number of replicas: it was averaged already, and was divided again",
           "divide in one place: in the loss, in the reduction, or in the update"},
    advice{diagnosis::unexplained, "unexplained",
           "no mistake that the doctor knows, and no two of them together, give these numbers",
           "take the smallest group that differs, and compare microbatch by microbatch"},
    advice{diagnosis::counters_differ, "counters_differ",
           "schedules, logs and restarts count other things than the plan",
           "see whether microbatches, updates attempted and updates applied are taken for each other, and whether data "
           "ended early"},
    advice{diagnosis::boundary_differs, "boundary_differs", "a group holds another number of microbatches than planned",
           "update when the group is full, and end each pass with end_of_data()"},
    advice{
        diagnosis::nothing_moved, "nothing_moved",
        "the update was applied and no parameter changed, though its gradient is not zero",
        "look at the learning rate; see whether it is below the rounding of the parameters; see whether the optimizer "
        "holds other views"},
    advice{diagnosis::moved_without_update, "moved_without_update",
           "no update was applied, and parameters changed all the same: optimizer state may have changed as well",
           "change parameters in the update alone, and skip all of it or nothing"},
    advice{diagnosis::moved_otherwise, "moved_otherwise", "the parameters moved by something else than the rule says",
           "look at the rule, its learning rate and its state"},
    advice{diagnosis::parameters_not_finite, "parameters_not_finite", "every gradient from now on is NaN",
           "go back to the last checkpoint; check gradients before the update"},
};

[[nodiscard]] constexpr advice const& advice_on(diagnosis d) noexcept {
  return all_advice[static_cast<std::size_t>(d)];
}
[[nodiscard]] constexpr std::string_view name_of(diagnosis d) noexcept { return advice_on(d).name; }
inline std::ostream& operator<<(std::ostream& out, diagnosis d) { return out << name_of(d); }

namespace detail {
[[nodiscard]] constexpr bool advice_in_order() {
  for (std::size_t i = 0; i < all_advice.size(); ++i)
    if (all_advice[i].of != static_cast<diagnosis>(i)) return false;
  return all_advice.back().of == diagnosis::parameters_not_finite;
}
}  // namespace detail
static_assert(detail::advice_in_order());

}  // namespace accrue::doctor
#endif

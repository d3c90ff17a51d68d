// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_EXAMINE_LOOP_HPP
#define ACCRUE_DOCTOR_EXAMINE_LOOP_HPP

#include <accrue/doctor/examine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace accrue::doctor {

/// The microbatches that a loop is asked to accumulate.
struct group {
  std::vector<examples> microbatches;  ///< replica by replica, as many of each
  int replicas = 1;
  double loss_scale = 1.0;
  double max_norm = std::numeric_limits<double>::infinity();  ///< to clip by

  /// The microbatches of one replica.
  [[nodiscard]] std::vector<examples> of_replica(int replica) const {
    auto const held = static_cast<std::ptrdiff_t>(microbatches.size()) / replicas;
    return {microbatches.begin() + replica * held, microbatches.begin() + (replica + 1) * held};
  }
};

/// Accumulates a group in its own way, and hands over what the update would receive. It does not update.
using loop_function = std::function<gradient(group const&)>;

namespace detail {

/// Chooses groups in which mistakes tell.
class group_choice {
 public:
  group_choice(std::vector<microbatch> const& each, loop_terms const& terms)
      : terms_(terms), random_(terms.seed), order_(each.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    by_count_ = order_;
    std::stable_sort(by_count_.begin(), by_count_.end(), [&](std::int64_t a, std::int64_t b) {
      return each[static_cast<std::size_t>(a)].count(terms.mean) < each[static_cast<std::size_t>(b)].count(terms.mean);
    });
  }

  /// `held` microbatches on each replica; in order of their counts, so that they weigh very differently, or in any.
  [[nodiscard]] group of(std::int64_t held, bool equal, bool sorted) {
    shuffle(order_, random_);
    auto const number = static_cast<std::size_t>(held * terms_.replicas);
    std::vector<std::size_t> sizes(number, 1);
    std::size_t rest = order_.size() - number;
    for (std::size_t i = 0; i < number && !equal; ++i) {
      std::size_t const more = std::min<std::size_t>(rest, i * 2 % 3);
      sizes[i] += more;
      rest -= more;
    }
    if (equal && rest >= number) sizes.assign(number, 2);
    return {cut(sorted ? by_count_ : order_, sizes), terms_.replicas, terms_.loss_scale, terms_.max_norm};
  }

 private:
  loop_terms const& terms_;
  std::mt19937_64 random_;
  examples order_, by_count_;
};

}  // namespace detail

/// Examines a loop that accumulates a group in its own way, or another framework: first the function that gives a
/// microbatch's gradient, as `examine` does, then the loop over it.
///
/// The loop is asked for full groups of equal and of unequal microbatches, and for short ones, on the same parameters;
/// with `takes_bound` also for groups that its bound clips and does not clip. `explain` compares what it hands over
/// with what it should be, and with what each mistake would give.
///
/// Order: as `examine`; with several processes, all of them call it with the same arguments, and the loop of each goes
/// through `of_replica(own rank)`. Guarantee: parameters are as before. What the loop holds at the beginning is no
/// mistake: the first group is asked for twice, and the first answer not judged.
///
/// Cost: as `examine`, and 5 to 8 calls of the loop, and one of the function for each microbatch.
///
/// Failure: `accrue::error` for fewer examples than twice the microbatches of a group, and as `examine`. A function in
/// which something was found is reported, and the loop is not judged.
[[nodiscard]] inline report examine_loop(watched_parameters const& parameters, microbatch_function const& function,
                                         loop_function const& loop, samples count, loop_terms const& terms) {
  terms.validate();
  detail::require_examples(count.value(), std::max<std::int64_t>(4, 2 * terms.microbatches * terms.replicas));
  report found;
  detail::questioning ask(parameters, function, terms.mean);
  std::vector<microbatch> const each =
      detail::examine_function(ask, static_cast<std::size_t>(count.value()), parameters, terms, found);
  if (!found.healthy()) {
    found.note("the loop was not examined: first repair the function that gives a microbatch's gradient");
    return found;
  }

  detail::group_choice choose(each, terms);
  std::int64_t const full = terms.microbatches;
  std::int64_t const part = std::max<std::int64_t>(1, full - 1);
  std::vector<group> groups{choose.of(full, true, false), choose.of(full, false, true), choose.of(part, false, false),
                            choose.of(full, false, false)};
  std::vector<double> bounds(4, 0.0);  // in norms of the gradient
  if (terms.takes_bound) {
    groups.push_back(choose.of(full, false, true));
    groups.push_back(choose.of(full, false, false));
    groups.push_back(choose.of(part, false, false));
    bounds.insert(bounds.end(), {0.5, 1.5, 0.25});
  }

  groups.insert(groups.begin(), groups.front());  // takes away what was left before, and is not judged
  bounds.insert(bounds.begin(), 0.0);

  std::vector<observed_group> seen;
  for (std::size_t q = 0; q < groups.size(); ++q) {
    group& asked = groups[q];
    observed_group& shown = seen.emplace_back();
    if (terms.takes_bound) asked.max_norm = std::numeric_limits<double>::infinity();
    for (examples const& list : asked.microbatches) {
      shown.microbatches.push_back(ask.ask(list, found));
      shown.handed_over = shown.microbatches.back().gradient;  // its shape
    }
    if (double const norm = prediction(seen, terms).of(q, {}).norm(); bounds[q] > 0.0 && norm > 0.0)
      asked.max_norm = bounds[q] * norm;
    shown.max_norm = asked.max_norm;
    shown.handed_over = loop(asked);
    parameters.fit(shown.handed_over);
    ask.look_at_parameters("the loop, in a group that it did not update,", found);
  }
  if (!found.healthy()) {
    found.note("what the loop handed over was not judged: its microbatches saw different parameters");
    return found;
  }

  found.add(explain(seen, terms, 1));
  if (found.has(diagnosis::unexplained)) {
    gradient again = loop(groups.back());
    parameters.fit(again);
    estimate expected;
    expected.add(1.0, seen.back().handed_over.values, seen.back().handed_over.largest());
    rounding const allowed{1e3, terms.slack};
    difference const d = compare(again.values, expected, again.tensors, allowed);
    if (d.rounding_alone()) return found;
    report other;
    other.add({diagnosis::random, joined({"the loop went through the same group twice, and in the second ",
                                          detail::text_of(d, again.tensors)})});
    return other;
  }
  return found;
}

}  // namespace accrue::doctor
#endif

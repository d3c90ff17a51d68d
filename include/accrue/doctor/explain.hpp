// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_EXPLAIN_HPP
#define ACCRUE_DOCTOR_EXPLAIN_HPP

#include <accrue/doctor/prediction.hpp>
#include <accrue/doctor/report.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace accrue::doctor {

namespace detail {

/// Six digits, as streams print them.
[[nodiscard]] inline std::string text_of(double number) {
  std::ostringstream out;
  out << number;
  return out.str();
}

/// Whether all are finite; says where not.
[[nodiscard]] inline bool finite(gradient const& of, std::string const& whose, report& to) {
  std::size_t at = 0;
  for (tensor const& t : of.tensors)
    for (std::int64_t i = 0; i < t.size; ++i, ++at)
      if (!is_finite(of.values[at])) {
        to.add({diagnosis::not_finite,
                joined({whose, " has ", text_of(of.values[at]), " at number ", std::to_string(i), " of ", t.label})});
        return false;
      }
  return true;
}

[[nodiscard]] inline std::string text_of(difference const& d, std::vector<tensor> const& tensors) {
  return joined({"number ", std::to_string(d.index), " of ", tensors[d.tensor].label, " is ", text_of(d.seen), ", not ",
                 text_of(d.expected), "; rounding explains a difference of ", text_of(d.bound)});
}

/// Tries hypotheses on groups.
class trial {
 public:
  trial(std::vector<observed_group> const& groups, loop_terms const& terms, std::size_t first_judged)
      : groups_(groups), first_(first_judged), predicted_(groups, terms), allowed_{0, terms.slack} {
    for (observed_group const& group : groups)
      for (microbatch const& each : group.microbatches)
        allowed_.terms += 1 + std::max(each.positions(), static_cast<double>(each.facts.samples.value()));
    tensors_ = groups.front().handed_over.tensors;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      tensor& coarsest = tensors_[t];
      allowed_.terms += static_cast<double>(coarsest.longest);
      if (coarsest.label.empty()) coarsest.label = joined({"tensor ", std::to_string(t)});
      for (observed_group const& group : groups) {
        coarsen(coarsest, group.handed_over.tensors[t]);
        for (microbatch const& each : group.microbatches) coarsen(coarsest, each.gradient.tensors[t]);
      }
    }
  }

  /// The tensors, each with the largest roundoff of its gradients.
  [[nodiscard]] std::vector<tensor> const& tensors() const { return tensors_; }

  [[nodiscard]] difference apart(std::size_t q, hypothesis const& h, bool quick) const {
    return compare(groups_[q].handed_over.values, predicted_.of(q, h), tensors_, allowed_, quick);
  }
  /// Whether all groups are as it says; what the first one began with is not known where sums are carried on.
  [[nodiscard]] bool fits(hypothesis const& h) const {
    std::size_t const first = h.carries() ? std::max<std::size_t>(1, first_) : first_;
    if (first >= groups_.size()) return false;
    for (std::size_t q = first; q < groups_.size(); ++q)
      if (!apart(q, h, true).rounding_alone()) return false;
    return true;
  }
  [[nodiscard]] std::vector<hypothesis> that_fit(std::vector<hypothesis> const& list) const {
    std::vector<hypothesis> fitting;
    for (hypothesis const& each : list)
      if (fits(each)) fitting.push_back(each);
    return fitting;
  }
  /// The group that is furthest from what it should be.
  [[nodiscard]] std::pair<std::size_t, difference> worst() const {
    std::pair<std::size_t, difference> most{0, {}};
    for (std::size_t q = first_; q < groups_.size(); ++q)
      if (difference const d = apart(q, {}, false); d.in_bounds > most.second.in_bounds) most = {q, d};
    return most;
  }
  [[nodiscard]] std::size_t differing() const {
    std::size_t count = 0;
    for (std::size_t q = first_; q < groups_.size(); ++q) count += apart(q, {}, true).rounding_alone() ? 0 : 1;
    return count;
  }
  /// Lengths of what was seen and of what should be, and the cosine between them.
  [[nodiscard]] std::string lengths(std::size_t q) const {
    estimate const right = predicted_.of(q, {});
    estimate seen;
    seen.values = groups_[q].handed_over.values;
    double product = 0;
    for (std::size_t i = 0; i < seen.values.size(); ++i) product += seen.values[i] * right.values[i];
    double const both = seen.norm() * right.norm();
    return joined({"it has norm ", text_of(seen.norm()), ", not ", text_of(right.norm()),
                   both > 0 ? joined({", and a cosine of ", text_of(product / both), " to it"}) : std::string()});
  }

 private:
  static void coarsen(tensor& to, tensor const& from) {
    to.stored = std::max(to.stored, from.stored);
    to.computed = std::max(to.computed, from.computed);
  }

  std::vector<observed_group> const& groups_;
  std::size_t first_;
  prediction predicted_;
  rounding allowed_;
  std::vector<tensor> tensors_;
};

/// Says of each mistake of the hypotheses that it was made, for sure where all of them agree.
inline void blame(std::vector<hypothesis> const& fitting, std::string const& saw, report& to) {
  std::vector<diagnosis> const first = fitting.front().mistakes();
  bool const sure = std::all_of(fitting.begin(), fitting.end(), [&](auto const& h) { return h.mistakes() == first; });
  for (hypothesis const& each : fitting)
    for (diagnosis const d : each.mistakes())
      if (!to.has(d)) to.add({d, saw, sure, each.formula()});
}

}  // namespace detail

/// Says what a loop does wrong, from the gradients that it ended some groups with and those of their microbatches.
///
/// Each mistake is a hypothesis, of which it follows what every group would have ended with. One that fits all groups
/// within rounding is named; where none does, two together; several that fit alike are all named, as uncertain. What
/// nothing explains is reported so, with numbers. Where the loop is right, the notes name the mistakes that these
/// groups would not have shown. Order: groups in the order in which the loop went through them, on the same parameters.
/// Failure: `accrue::error` for no groups, groups of no whole number of microbatches on each replica, tensors of
/// different sizes. Source: the tolerance is that of `rounding`. Cost: on the host, for each hypothesis a read of all
/// microbatches.
[[nodiscard]] inline report explain(std::vector<observed_group> const& groups, loop_terms const& terms,
                                    std::size_t first_judged = 0) {
  terms.validate();
  if (groups.size() <= first_judged)
    throw error("accrue::doctor::explain: no groups", "there is nothing to explain", "hand over two or more");
  report found;
  bool clips = false;
  bool always_clipped = true;
  prediction const predicted(groups, terms);
  for (std::size_t q = 0; q < groups.size(); ++q) {
    observed_group const& group = groups[q];
    std::string const name = joined({"group ", std::to_string(q)});
    if (group.microbatches.empty() || group.microbatches.size() % static_cast<std::size_t>(terms.replicas) != 0)
      throw error(joined({"accrue::doctor::explain: ", name, " has ", std::to_string(group.microbatches.size()),
                          " microbatches on ", std::to_string(terms.replicas), " replicas"}),
                  "each replica has as many", "hand them over replica by replica");
    for (microbatch const& each : group.microbatches)
      if (!each.gradient.same_sizes(groups.front().handed_over) || !group.handed_over.same_sizes(each.gradient))
        throw error(joined({"accrue::doctor::explain: gradients of ", name, " have different sizes"}),
                    "they are compared number by number", "hand over gradients of the same parameters");
    for (std::size_t i = 0; i < group.microbatches.size(); ++i)
      if (microbatch const& each = group.microbatches[i]; each.count(terms.mean) != 0.0)
        if (!detail::finite(each.gradient, joined({"microbatch ", std::to_string(i), " of ", name}), found))
          return found;
    if (!detail::finite(group.handed_over, joined({"the gradient of ", name}), found)) return found;
    hypothesis unclipped;
    unclipped.clips = hypothesis::clipping::none;
    bool const clipped = predicted.of(q, unclipped).norm() > group.max_norm;
    clips = clips || group.max_norm < std::numeric_limits<double>::infinity();
    always_clipped = always_clipped && clipped;
  }

  detail::trial const trial(groups, terms, first_judged);
  std::vector<hypothesis> const singles = single_mistakes(terms, clips);
  std::vector<hypothesis> fitting = trial.that_fit(singles);
  if (always_clipped) found.note("every group was clipped, which hides what multiplies a gradient before");
  if (trial.fits({})) {
    std::string hidden;
    std::vector<diagnosis> named;
    for (hypothesis const& each : fitting) {
      diagnosis const d = each.mistakes().front();
      if (std::find(named.begin(), named.end(), d) != named.end()) continue;
      named.push_back(d);
      hidden.append(hidden.empty() ? "" : ", ").append(name_of(d));
    }
    if (!hidden.empty()) found.note(joined({"these groups cannot show every form of: ", hidden}));
    return found;
  }

  auto const [q, difference] = trial.worst();
  std::string const saw =
      joined({std::to_string(trial.differing()), " of ", std::to_string(groups.size() - first_judged),
              " groups differ; in group ", std::to_string(q), " ", detail::text_of(difference, trial.tensors())});
  if (fitting.empty()) {
    std::vector<hypothesis> pairs;
    for (std::size_t a = 0; a < singles.size(); ++a)
      for (std::size_t b = a + 1; b < singles.size(); ++b)
        if (auto const both = singles[a].with(singles[b])) pairs.push_back(*both);
    fitting = trial.that_fit(pairs);
  }
  if (fitting.empty())
    found.add({diagnosis::unexplained, joined({saw, "; ", trial.lengths(q)})});
  else
    detail::blame(fitting, saw, found);
  return found;
}

}  // namespace accrue::doctor
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_PREDICTION_HPP
#define ACCRUE_DOCTOR_PREDICTION_HPP

#include <accrue/doctor/hypothesis.hpp>
#include <accrue/doctor/loop_terms.hpp>
#include <accrue/doctor/rounding.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace accrue::doctor {

/// What a loop would have handed over for its groups, under any hypothesis. Keeps a reference to the groups.
class prediction {
 public:
  prediction(std::vector<observed_group> const& groups, loop_terms const& terms) : groups_(groups), terms_(terms) {}

  /// The gradient of a group. Order: `q` above 0 where the hypothesis carries something on.
  [[nodiscard]] estimate of(std::size_t q, hypothesis const& h) const {
    using enum hypothesis::clipping;
    observed_group const& group = groups_[q];
    std::size_t const size = group.microbatches.size();
    std::size_t const held = size / static_cast<std::size_t>(terms_.replicas);
    double const replicas = terms_.replicas;
    double early = 1.0;
    double late = 1.0;
    for (hypothesis::scaling const& each_factor : {h.times, h.times_too})
      (each_factor.after_clip ? late : early) *= value_of(each_factor.by, static_cast<double>(held));
    std::vector<double> const shares = shares_of(group, h, early);

    estimate all = zeros(group);
    for (std::size_t r = 0; r < static_cast<std::size_t>(terms_.replicas); ++r) {
      estimate own = zeros(group);
      for (std::size_t i = r * held; i < (r + 1) * held; ++i) {
        if (shares[i] == 0.0) continue;
        if (h.clips == each || h.clips == each_weighted) {
          estimate one = zeros(group);
          bool const weighted = h.clips == each_weighted;
          add(one, weighted ? shares[i] * replicas : 1.0, group.microbatches[i]);
          clip(one, group);
          own.add(weighted ? 1.0 : shares[i] * replicas, one.values, one.magnitude);
        } else {
          add(own, shares[i] * replicas, group.microbatches[i]);
          if (h.clips == running) clip(own, group);
        }
      }
      if (h.clips == replica) clip(own, group);
      all.add(1.0 / replicas, own.values, own.magnitude);
    }
    if (h.carries()) carry(all, q, h, early);

    if (h.clips == hypothesis::clipping::whole_group) clip(all, group);
    if (double const before = multiple_of(h.clips, group, held); before != 0.0) {
      all.scale(before);
      clip(all, group);
      all.scale(1.0 / before);
    }
    if (late != 1.0) all.scale(late);
    if (group.max_norm < std::numeric_limits<double>::infinity())
      all.terms = std::sqrt(static_cast<double>(all.values.size()));
    return all;
  }

  /// What the mean is divided by.
  [[nodiscard]] double count(observed_group const& group) const {
    double sum = 0;
    for (microbatch const& each : group.microbatches) sum += each.count(terms_.mean);
    return sum;
  }

 private:
  using weighing = hypothesis::weighing;
  using scope = hypothesis::scope;

  [[nodiscard]] static estimate zeros(observed_group const& group) {
    estimate none;
    none.values.assign(group.handed_over.values.size(), 0.0);
    none.magnitude.assign(group.handed_over.tensors.size(), 0.0);
    return none;
  }
  /// Adds a share of a microbatch's mean gradient.
  void add(estimate& to, double share, microbatch const& from) const {
    double const count = from.count(terms_.mean);
    if (count > 0.0) to.add(from.is_mean ? share : share / count, from.gradient.values, from.magnitude);
  }
  void clip(estimate& of, observed_group const& group) const { of.clip(group.max_norm, terms_.clip_epsilon); }

  [[nodiscard]] double nominal() const { return static_cast<double>(terms_.microbatches); }
  [[nodiscard]] double value_of(hypothesis::factor f, double held) const {
    double const values[] = {1.0,
                             1.0 / held,
                             1.0 / nominal(),
                             held,
                             nominal(),
                             terms_.loss_scale,
                             1.0 / terms_.loss_scale,
                             static_cast<double>(terms_.replicas),
                             1.0 / terms_.replicas};
    return values[static_cast<std::size_t>(f)];
  }
  /// What the gradient is multiplied by when it is clipped; 0 where another rule holds.
  [[nodiscard]] double multiple_of(hypothesis::clipping c, observed_group const& group, std::size_t held) const {
    using enum hypothesis::clipping;
    if (c == over_held) return static_cast<double>(held);
    if (c == over_all) return static_cast<double>(group.microbatches.size());
    if (c == over_nominal) return nominal() * terms_.replicas;
    if (c == over_count) return count(group);
    return c == scaled ? terms_.loss_scale : 0.0;
  }

  /// What a microbatch weighs, in the sum and in what it is divided by.
  [[nodiscard]] double weight(weighing w, microbatch const& m) const {
    if (m.count(terms_.mean) == 0.0) return 0.0;
    if (w == weighing::equally) return 1.0;
    if (w == weighing::by_positions) return m.positions();
    if (w == weighing::by_other_unit)
      return m.count(terms_.mean == mean_over::samples ? mean_over::tokens : mean_over::samples);
    return m.count(terms_.mean);
  }
  /// What the mean gradient of each microbatch is multiplied by.
  [[nodiscard]] std::vector<double> shares_of(observed_group const& group, hypothesis const& h, double factor) const {
    std::size_t const size = group.microbatches.size();
    std::size_t const held = size / static_cast<std::size_t>(terms_.replicas);
    bool const by_replica = h.weights == weighing::equally_over_replicas;
    bool const only_last = h.holds == scope::last_weighted || h.holds == scope::last_alone;
    if (h.nominal_tail) factor *= static_cast<double>(held) / nominal();
    std::vector<double> divisors;  // of each replica
    double all = 0;
    for (std::size_t i = 0; i < size; ++i) {
      if (i % held == 0) divisors.push_back(0.0);
      if (h.holds == scope::last_alone && (i + 1) % held != 0) continue;
      divisors.back() += divisor(h.weights, group.microbatches[i]);
      all += divisor(h.weights, group.microbatches[i]);
    }
    std::vector<double> shares(size, 0.0);
    for (std::size_t i = 0; i < size; ++i) {
      bool const summed = h.holds != scope::nothing && (!only_last || (i + 1) % held == 0);
      double const by = by_replica ? divisors[i / held] * terms_.replicas : all;
      if (summed && by > 0.0) shares[i] = factor * weight(h.weights, group.microbatches[i]) / by;
    }
    return shares;
  }
  [[nodiscard]] double divisor(weighing w, microbatch const& m) const {
    return w == weighing::over_positions ? m.positions() : weight(w, m);
  }

  /// Adds what a loop keeps of the groups before.
  void carry(estimate& all, std::size_t q, hypothesis const& h, double factor) const {
    if (h.holds == scope::onto_handed_over || h.holds == scope::onto_unscaled) {
      gradient const& former = groups_[q - 1].handed_over;
      double const share = h.holds == scope::onto_unscaled ? 1.0 / terms_.loss_scale : 1.0;
      return all.add(share, former.values, former.largest());
    }
    hypothesis before = h;
    before.holds = scope::whole_group;
    double const own = count(groups_[q]);
    double counts = own;
    for (std::size_t f = 0; f < q; ++f) {
      std::vector<double> const shares = shares_of(groups_[f], before, factor);
      double const former = count(groups_[f]);
      counts += former;
      double const by = h.holds == scope::onto_gradients || own == 0.0 ? 1.0 : former / own;
      for (std::size_t i = 0; i < shares.size(); ++i) add(all, by * shares[i], groups_[f].microbatches[i]);
    }
    if (h.holds == scope::onto_sums_and_counts && counts > 0.0) all.scale(own / counts);
  }

  std::vector<observed_group> const& groups_;
  loop_terms const& terms_;
};

}  // namespace accrue::doctor
#endif

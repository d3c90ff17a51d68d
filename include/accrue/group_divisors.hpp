// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_GROUP_DIVISORS_HPP
#define ACCRUE_GROUP_DIVISORS_HPP

#include <accrue/accumulate/gate.hpp>
#include <accrue/core/open_terms.hpp>
#include <accrue/finalize/division.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace accrue {

/// What the weight of an open group has its sums and losses divided by, where the division divides a part of it early.
template <class Recipe, class Group>
class group_divisors {
  using division = typename Recipe::division_type;
  using objective = typename Recipe::objective_type;

 public:
  group_divisors(Recipe const& policies, Group const& group) : policies_(policies), group_(group) {}

  [[nodiscard]] double weight() const { return static_cast<double>(group_.weight); }
  [[nodiscard]] double of_losses() const { return objective::divisor(weight()); }
  /// Of the sums as they are in the buffer, in a group that counts as one of weight `of`.
  [[nodiscard]] double of_sums(double of) const { return objective::divisor(of) / early_part(weight()); }
  /// For diagnostics: a group that weighs nothing yet has gradient zero, not 0/0.
  [[nodiscard]] double of_sums_so_far() const { return group_.contributed > 0 ? of_sums(weight()) : 1.0; }

  /// Divides a microbatch's weight as the sums are to be divided with it in them, where the group then weighs `weight`.
  /// Returns what the sums are to be multiplied by before. Failure: `accrue::error` for a weight that the division does
  /// not take.
  template <class Number>
  [[nodiscard]] double divide(microbatch_weight& by, Number weight) const {
    if constexpr (division::keeps_sums) {
      return 1.0;
    } else {
      check_weight(policies_.division, weight, false);
      double const divisor = early_part(static_cast<double>(weight));
      by = by.over(divisor);
      return group_.contributed > 0 ? early_part(this->weight()) / divisor : 1.0;
    }
  }
  /// What the sums of this replica are multiplied by to be part of the sums of `whole`, the group of all replicas.
  [[nodiscard]] double among(Group const& whole) const {
    if constexpr (division::keeps_sums)
      return 1.0;
    else
      return group_.contributed > 0 ? early_part(weight()) / early_part(static_cast<double>(whole.weight)) : 1.0;
  }
  /// Failure: `accrue::error` where a division was told that another weight would be there.
  void check_closing() const { check_weight(policies_.division, group_.total(), true); }

 private:
  [[nodiscard]] double early_part(double weight) const { return policies_.division.divided_by(weight); }

  Recipe const& policies_;
  Group const& group_;
};

/// Of named terms each is divided by itself, so that nothing is left for their sum.
template <class Recipe, class Total, class... Counts>
class group_divisors<Recipe, open_terms<Total, Counts...>> {
  using group = open_terms<Total, Counts...>;

 public:
  group_divisors(Recipe const& policies, group const& open) : policies_(policies), group_(open) {}

  [[nodiscard]] static double weight() { return 1.0; }
  [[nodiscard]] static double of_losses() { return 1.0; }
  [[nodiscard]] static double of_sums(double of) { return of; }
  [[nodiscard]] static double of_sums_so_far() { return 1.0; }
  [[nodiscard]] static double among(group const&) { return 1.0; }

  /// What the sum of each term, and its loss, is multiplied by.
  [[nodiscard]] std::array<double, group::size> factors() const {
    return policies_.normalization.template factors<typename Recipe::objective_type>(group_);
  }
  void check_closing() const {
    if constexpr (!Recipe::division_type::keeps_sums) {
      [&]<std::size_t... T>(std::index_sequence<T...>) {
        (policies_.division.template check<T>(group_.template term<T>().total(), true), ...);
      }
      (std::index_sequence_for<Counts...>{});
    }
  }

 private:
  Recipe const& policies_;
  group const& group_;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TERM_MICROBATCH_HPP
#define ACCRUE_TERM_MICROBATCH_HPP

#include <accrue/accumulate/add_microbatch.hpp>
#include <accrue/accumulate/gate.hpp>
#include <accrue/core/replica_transport.hpp>
#include <accrue/core/term_contribution.hpp>
#include <accrue/finalize/division.hpp>

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace accrue {

/// One microbatch with named terms on its way into the group: everything that can throw is done at construction.
template <class Recipe, class Sums, class Group>
class term_microbatch {
  using terms = typename Recipe::normalization_type;
  using objective = typename Recipe::objective_type;

 public:
  /// Checks it, and enters it in `next`, a copy of the open group.
  template <class Exec, class... Given>
  term_microbatch(Exec const& exec, Recipe const& policies, Sums& sums, Group& next, Given const&... given) {
    (take_fact(facts_, given), ...);
    (admit_term(exec, policies, sums, next, given), ...);
    next.counts.add(facts_, ignored());
    next.contributed += ignored() ? 0 : 1;
  }

  [[nodiscard]] microbatch_facts const& facts() const { return facts_; }
  [[nodiscard]] bool ignored() const { return weighing_ == 0; }

  /// Adds the gradients, the losses follow them. With the `last` one of the group the norm is measured.
  template <class Exec, class... Given>
  void enter(Exec const& exec, Recipe const& policies, Sums& sums, Group& next, bool last, Given const&... given) {
    (take_gradient(exec, policies, sums, last, given), ...);
    (take_losses(exec, sums, next, given), ...);
  }

 private:
  struct admitted_term {
    bool weighs = false;
    double count = 0.0;
    microbatch_weight by;
  };
  template <class Tag>
  static constexpr std::size_t number = terms::template index_of<Tag>;

  template <class Given>
  static void take_fact(microbatch_facts& facts, Given const& given) {
    if constexpr (!is_of_term_v<Given>) facts.take(given);
  }

  template <class Exec, class Given>
  void admit_term(Exec const&, Recipe const&, Sums&, Group&, Given const&) {}
  template <class Exec, class Tag, class Contribution, class... Facts>
  void admit_term(Exec const& exec, Recipe const& policies, Sums& sums, Group& next,
                  term_contribution<Tag, Contribution, Facts...> const& given) {
    constexpr std::size_t term = number<Tag>;
    constexpr bool counts_itself = (std::is_same_v<Facts, samples> || ...) || (std::is_same_v<Facts, tokens> || ...);
    microbatch_facts own = facts_;
    if (counts_itself) own.declares_nothing = false;
    std::apply([&](auto const&... fact) { (own.take(fact), ...), (refuse_bad_loss(fact), ...); }, given.facts);
    auto const found = admit<typename terms::template normalization_of<term>, objective,
                             arrives_reduced_v<typename Recipe::replicas_type>>(own, Contribution::is_mean);
    sums.template check<term>(exec, policies.clip, given.gradient);
    next.template term<term>().add(own, found.count, found.ignored);
    if (found.ignored) return;
    admitted_term& mine = admitted_[term];
    mine = {true, static_cast<double>(found.count), found.by};
    ++weighing_;
    if constexpr (!Recipe::division_type::keeps_sums) {
      auto const weight = next.template term<term>().total();
      policies.division.template check<term>(weight, false);
      mine.by = mine.by.over(policies.division.template divided_by<term>(static_cast<double>(weight)));
      mine.by.product *= policies.normalization.template coefficient<term>();
    }
  }

  template <class Exec, class Given>
  void take_gradient(Exec const&, Recipe const&, Sums&, bool, Given const&) {}
  template <class Exec, class Tag, class Contribution, class... Facts>
  void take_gradient(Exec const& exec, Recipe const& policies, Sums& sums, bool last,
                     term_contribution<Tag, Contribution, Facts...> const& given) {
    admitted_term const& mine = admitted_[number<Tag>];
    if (!mine.weighs) return;
    sums.template take<number<Tag>>(exec, policies.clip, given.gradient, mine.by, last && ++taken_ == weighing_);
  }

  template <class Exec, class Given>
  void take_losses(Exec const&, Sums const&, Group&, Given const&) {}
  template <class Exec, class Tag, class Contribution, class... Facts>
  void take_losses(Exec const& exec, Sums const& sums, Group& next,
                   term_contribution<Tag, Contribution, Facts...> const& given) {
    constexpr std::size_t term = number<Tag>;
    admitted_term const& mine = admitted_[term];
    if (!mine.weighs) return;
    auto& loss = next.template term<term>().loss;
    std::apply([&](auto const&... fact) { (add_loss_of<false>(exec, sums.losses(term), loss, fact, mine.count), ...); },
               given.facts);
  }

  microbatch_facts facts_;
  std::array<admitted_term, terms::size> admitted_;
  int weighing_ = 0;
  int taken_ = 0;
};

}  // namespace accrue
#endif

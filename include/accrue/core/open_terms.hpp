// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_OPEN_TERMS_HPP
#define ACCRUE_CORE_OPEN_TERMS_HPP

#include <accrue/core/facts.hpp>
#include <accrue/core/open_group.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

namespace accrue {

/// The most terms that a recipe names.
inline constexpr std::size_t most_terms = 8;

/// What the host knows of a group that is being filled with several terms: each has a weight and a loss of its own.
template <class Total, class... Counts>
struct open_terms {
  static constexpr std::size_t size = sizeof...(Counts);

  group_counts counts;
  std::int64_t contributed = 0;  ///< microbatches in which a term weighs
  double weight = 0.0;           ///< of the first term, once they are combined
  group_loss<> loss;             ///< of all terms, once they are combined
  std::tuple<open_group<Counts, Total>...> terms;

  template <std::size_t Term>
  [[nodiscard]] auto& term() {
    return std::get<Term>(terms);
  }
  template <std::size_t Term>
  [[nodiscard]] auto const& term() const {
    return std::get<Term>(terms);
  }
  [[nodiscard]] std::array<double, size> weights() const {
    return std::apply([](auto const&... each) { return std::array{static_cast<double>(each.weight)...}; }, terms);
  }

  /// Forms the loss as the gradient is formed: the sum of each term's loss, times its factor.
  void combine(std::array<double, size> const& factors) {
    loss = {};
    weight = static_cast<double>(term<0>().weight);
    [&]<std::size_t... T>(std::index_sequence<T...>) {
      ((loss.on_host += term<T>().contributed > 0 ? factors[T] * static_cast<double>(term<T>().loss.on_host) : 0.0),
       ...);
      ((loss.on_device = loss.on_device || (term<T>().contributed > 0 && term<T>().loss.on_device)), ...);
    }
    (std::index_sequence_for<Counts...>{});
  }

  /// Adds the group of another replica.
  void merge(open_terms const& other) {
    counts += other.counts;
    contributed += other.contributed;
    [&]<std::size_t... T>(std::index_sequence<T...>) { (term<T>().merge(other.template term<T>()), ...); }
    (std::index_sequence_for<Counts...>{});
  }

  /// For a restart, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(counts, contributed);
    std::apply([&](auto&... each) { (visit(each), ...); }, terms);
  }
  /// Whether the numbers can have come about by adding.
  [[nodiscard]] bool plausible() const {
    std::int64_t const weighing = counts.microbatches.value() - counts.ignored_microbatches.value();
    return contributed >= 0 && contributed <= weighing &&
           std::apply([](auto const&... each) { return (each.plausible() && ...); }, terms);
  }

  /// The loss is known only if every term that weighs has one.
  [[nodiscard]] bool has_loss() const {
    return contributed > 0 &&
           std::apply([](auto const&... each) { return ((each.contributed == 0 || each.has_loss()) && ...); }, terms);
  }
};

}  // namespace accrue
#endif

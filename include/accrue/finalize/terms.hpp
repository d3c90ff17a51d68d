// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_TERMS_HPP
#define ACCRUE_FINALIZE_TERMS_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/open_terms.hpp>
#include <accrue/core/slots.hpp>
#include <accrue/finalize/normalization.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace accrue {

/// A term of the loss: a tag, which is a type of yours, a normalization, and the coefficient that it has in the loss.
/// Made by `term<Tag>`.
template <class Tag, class Normalization>
class named_term {
 public:
  using tag = Tag;
  using normalization_type = Normalization;

  named_term(Normalization normalization, double coefficient)
      : normalization_(normalization), coefficient_(coefficient) {}

  [[nodiscard]] Normalization const& normalization() const { return normalization_; }
  [[nodiscard]] double coefficient() const { return coefficient_; }
  friend bool operator==(named_term const&, named_term const&) = default;

 private:
  Normalization normalization_;
  double coefficient_;
};

/// Names a term. A static member `name` of the tag is what is printed.
/// Example: `accrue::term<aux>(accrue::per_microbatch{}, 0.01)`
template <class Tag, class Normalization>
[[nodiscard]] named_term<Tag, Normalization> term(Normalization normalization, double coefficient = 1.0) {
  return {normalization, coefficient};
}

/// Several terms of the loss in one update, each with a normalization of its own: G = sum of c_t * S_t / N_t. Fills the
/// slot normalization.
///
/// Order: a term that a microbatch does not give counts nothing for it. Clip, norm and finite check see the sum of the
/// terms. Guarantee: a term without weight in a group adds nothing to it, and the record shows its weight as 0; a group
/// in which no term weighs is empty. Cost: with `late` division, sums of its own for each term beyond the first, and
/// one pass per group that adds them, see `plan::buffer_words`; with `early` one buffer and no pass. Failure:
/// `accrue::error` for a coefficient that is not finite. Example: `accrue::terms(
/// accrue::term<lm>(accrue::per_token{}), accrue::term<aux>(accrue::per_microbatch{}, 0.01))`
template <class... Terms>
class terms {
 public:
  using fills = slot::normalization;
  static constexpr std::string_view name = "terms";
  static constexpr std::size_t size = sizeof...(Terms);
  template <std::size_t Term>
  using normalization_of = typename std::tuple_element_t<Term, std::tuple<Terms...>>::normalization_type;

  explicit terms(Terms... each) : terms_(each...) {}

  /// The number of a tag among the terms, and how often it is there.
  template <class Tag>
  static constexpr std::size_t index_of = [] {
    std::size_t index = 0;
    bool found = false;
    ((found = found || std::is_same_v<Tag, typename Terms::tag>, index += found ? 0 : 1), ...);
    return index;
  }();
  template <class Tag>
  static constexpr int times_named = (0 + ... + int(std::is_same_v<Tag, typename Terms::tag>));

  template <std::size_t Term>
  [[nodiscard]] double coefficient() const {
    return std::get<Term>(terms_).coefficient();
  }
  /// What the sum of each term is multiplied by in a group: its coefficient over what its objective divides by.
  template <class Objective, class Group>
  [[nodiscard]] std::array<double, size> factors(Group const& group) const {
    return [&]<std::size_t... T>(std::index_sequence<T...>) {
      auto const over = [](double weight) { return weight > 0.0 ? Objective::divisor(weight) : 1.0; };
      return std::array{coefficient<T>() / over(static_cast<double>(group.template term<T>().weight))...};
    }
    (std::index_sequence_for<Terms...>{});
  }

  void validate() const {
    auto const check = [](double coefficient) {
      if (!(coefficient >= -std::numeric_limits<double>::max() && coefficient <= std::numeric_limits<double>::max()))
        throw error("accrue::terms: the coefficient of a term is not finite", "the whole gradient would not be either",
                    "give a number");
    };
    std::apply([&](auto const&... each) { (check(each.coefficient()), ...); }, terms_);
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    std::size_t number = 0;
    std::apply([&](auto const&... each) { (show(visit, each, ++number), ...); }, terms_);
  }
  friend bool operator==(terms const&, terms const&) = default;

 private:
  template <class Visit, class Term>
  static void show(Visit& visit, Term const& each, std::size_t number) {
    std::string of_term = "term " + std::to_string(number);
    if constexpr (requires { std::string_view(Term::tag::name); }) of_term = Term::tag::name;
    visit(of_term, each.normalization());
    if (each.coefficient() != 1.0) visit("times", each.coefficient());
  }

  std::tuple<Terms...> terms_;
};
template <class... Terms>
terms(Terms...) -> terms<Terms...>;

/// Whether what fills the slot normalization names terms.
template <class T>
inline constexpr bool has_terms_v = false;
template <class... Terms>
inline constexpr bool has_terms_v<terms<Terms...>> = true;

namespace detail {
template <class T>
inline constexpr bool is_named_term_v = false;
template <class Tag, class Normalization>
inline constexpr bool is_named_term_v<named_term<Tag, Normalization>> = normalization_policy<Normalization>;

template <class Normalization>
inline constexpr bool good_terms_v = false;
template <class... Terms>
inline constexpr bool good_terms_v<terms<Terms...>> = [] {
  if constexpr (sizeof...(Terms) >= 1 && sizeof...(Terms) <= most_terms && (is_named_term_v<Terms> && ...))
    return ((terms<Terms...>::template times_named<typename Terms::tag> == 1) && ...);
  else
    return false;
}();

template <class Normalization, class Total>
struct group_under {
  using type = open_group<typename Normalization::count_type, Total>;
};
template <class... Terms, class Total>
struct group_under<terms<Terms...>, Total> {
  using type = open_terms<Total, typename Terms::normalization_type::count_type...>;
};
}  // namespace detail

/// Terms that differ by their tags, of normalizations that are policies.
template <class Normalization>
concept named_terms = detail::good_terms_v<Normalization>;

/// What the host knows of an open group under a normalization, or under several; real numbers are summed in a `Total`.
template <class Normalization, class Total>
using open_group_under = typename detail::group_under<Normalization, Total>::type;

}  // namespace accrue
#endif

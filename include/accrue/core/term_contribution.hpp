// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_TERM_CONTRIBUTION_HPP
#define ACCRUE_CORE_TERM_CONTRIBUTION_HPP

#include <tuple>

namespace accrue {

/// A microbatch's gradient of one named term, with that term's loss and counts; made by `of<Tag>`.
template <class Tag, class Contribution, class... Facts>
struct term_contribution {
  using tag = Tag;
  Contribution const& gradient;
  std::tuple<Facts const&...> facts;
};

/// Says which term of the loss a gradient belongs to, where the recipe has named `terms`. The loss of the term follows
/// it, and counts that are not those of the whole microbatch.
///
/// Order: written in the call of `accumulate`; it refers to its arguments.
/// Example: `group.accumulate(accrue::of<lm>(accrue::mean_gradient{g}), accrue::of<aux>(accrue::mean_gradient{h}),
/// accrue::tokens{512});`
template <class Tag, class Contribution, class... Facts>
[[nodiscard]] term_contribution<Tag, Contribution, Facts...> of(Contribution const& gradient, Facts const&... facts) {
  return {gradient, std::tuple<Facts const&...>(facts...)};
}

template <class T>
inline constexpr bool is_of_term_v = false;
template <class Tag, class Contribution, class... Facts>
inline constexpr bool is_of_term_v<term_contribution<Tag, Contribution, Facts...>> = true;

}  // namespace accrue
#endif

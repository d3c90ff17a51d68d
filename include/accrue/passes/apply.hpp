// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_APPLY_HPP
#define ACCRUE_PASSES_APPLY_HPP

#include <accrue/core/decision.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/passes/block.hpp>
#include <accrue/passes/launch.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace accrue {

/// What a rule keeps of one element: `state[0]`, `state[1]`, ... in the scalar of the buffer, zero at construction.
template <class B>
struct element_state {
  B* first;
  std::int64_t words_apart;
  [[nodiscard]] KOKKOS_FUNCTION B& operator[](int word) const { return first[word * words_apart]; }
};

/// sum / divisor * factor, formed in double and rounded once to the scalar of the buffer.
template <class B>
[[nodiscard]] KOKKOS_FUNCTION B quotient(B const& sum, double divisor, double factor) {
  if constexpr (is_complex_v<B>) {
    return B(quotient(sum.real(), divisor, factor), quotient(sum.imag(), divisor, factor));
  } else {
    return static_cast<B>(static_cast<double>(sum) / divisor * factor);
  }
}

/// Divides and clips the raw sum: G = S / divisor, times the clip factor, then bounded by value.
template <class B, class Clip>
struct finish_element {
  double divisor;
  double clip_factor;
  Clip clip;
  KOKKOS_FUNCTION B operator()(B const& sum) const { return clip.bounded(quotient(sum, divisor, clip_factor)); }
};

/// Hands one element to a rule: parameter and gradient in the scalar of the buffer, its state by reference.
template <class P, class B, class Rule, class Finish>
struct apply_element {
  B* sum;
  std::int64_t words_apart;
  Rule rule;
  Finish finish;

  KOKKOS_FUNCTION void operator()(std::int64_t i, P& parameter) const {
    B const gradient = finish(sum[i]);
    element_state<B> const state{sum + i + words_apart, words_apart};
    if constexpr (requires { rule.keep(sum[i], gradient); }) {
      rule.keep(sum[i], gradient);
    } else {
      B value = B(widen(parameter));
      rule(value, gradient, state);
      parameter = narrow<P>(value);
    }
  }
};

/// A rule for every parameter group, chosen by number; one after the other, because std::tuple has no device functions.
template <class... Rules>
struct rule_list;

template <class Rule>
struct rule_list<Rule> {
  Rule rule;
  template <class Visit>
  KOKKOS_FUNCTION void visit(std::int32_t, Visit const& visit) const {
    visit(rule);
  }
};

template <class Rule, class Next, class... Rest>
struct rule_list<Rule, Next, Rest...> {
  Rule rule;
  rule_list<Next, Rest...> rest;
  template <class Visit>
  KOKKOS_FUNCTION void visit(std::int32_t group, Visit const& visitor) const {
    if (group == 0) {
      visitor(rule);
    } else {
      rest.visit(group - 1, visitor);
    }
  }
};

/// The update pass: reads the buffer, writes parameters and state. Returns at once where the decision is not to apply,
/// and passes over views that no microbatch of the group touched.
template <class P, class B, class Rules, class Clip>
struct apply_chunk {
  chunk const* chunks;
  strided const* parameters;
  placement const* placements;
  std::uint8_t const* touched;
  std::int64_t const* updates_of_view;  ///< this one included
  B* buffer;
  std::int64_t words_apart;
  decision const* verdict;
  Rules rules;
  Clip clip;

  template <class Worker>
  struct with_rule {
    apply_chunk const& pass;
    chunk part;
    Worker worker;

    template <class Rule>
    KOKKOS_FUNCTION void operator()(Rule const& rule) const {
      auto const element_rule = rule.template for_update<real_t<B>>(pass.updates_of_view[part.view]);
      using element_rule_type = std::remove_const_t<decltype(element_rule)>;
      finish_element<B, Clip> const finish{pass.verdict->divisor, pass.verdict->clip_factor, pass.clip};
      walk<P>(pass.parameters[part.view], part, worker,
              apply_element<P, B, element_rule_type, finish_element<B, Clip>>{
                  pass.buffer + pass.placements[part.view].begin, pass.words_apart, element_rule, finish});
    }
  };

  template <class Worker>
  KOKKOS_FUNCTION void operator()(std::int64_t c, Worker worker) const {
    chunk const part = chunks[c];
    if (verdict->apply == 0 || touched[part.view] == 0) return;
    rules.visit(placements[part.view].group, with_rule<Worker>{*this, part, worker});
  }
};

}  // namespace accrue
#endif

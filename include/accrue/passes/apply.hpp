// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_APPLY_HPP
#define ACCRUE_PASSES_APPLY_HPP

#include <accrue/core/decision.hpp>
#include <accrue/core/lane_memory.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/core/scalar_id.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/core/type_list.hpp>
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

#if ACCRUE_HAS_LANES
/// The same for eight neighbours: `state[0]` are the lanes of the first word.
template <class B>
struct lane_state {
  B* first;
  std::int64_t words_apart;
  [[nodiscard]] lanes<B>& operator[](int word) const {  // lanes may alias; the arena and its words are aligned
    return *reinterpret_cast<lanes<B>*>(first + word * words_apart);
  }
};
#endif

/// What turns a raw sum, which is finite, into the gradient: sum / divisor * factor, formed in double and rounded once
/// to the buffer's scalar. For float the two numbers become one, whose rounding error a float does not see; and that
/// one is split into two floats where lanes have a fused multiplication, which lose nothing that the one rounding
/// keeps.
struct quotient_by {
  double divisor = 1.0;
  double factor = 1.0;
  double scale = 1.0;
  float high = 1.0F;  ///< scale = high + low, up to 2^-49 of it
  float low = 0.0F;
  bool splits = true;  ///< and neither leaves the range of float, nor does a product that counts

  quotient_by() = default;
  KOKKOS_FUNCTION quotient_by(double by, double times)
      : divisor(by), factor(times), scale(times / by), splits(Kokkos::abs(scale) > 1e-20 && Kokkos::abs(scale) < 1e20) {
    if (!splits) return;
    high = static_cast<float>(scale);
    low = static_cast<float>(scale - static_cast<double>(high));
  }

  template <class B>
  [[nodiscard]] KOKKOS_FUNCTION B operator()(B const& sum) const {
    if constexpr (is_complex_v<B>) {
      return B((*this)(sum.real()), (*this)(sum.imag()));
    } else if constexpr (sizeof(B) < sizeof(double)) {
      return static_cast<B>(static_cast<double>(sum) * scale);
    } else {
      return sum / divisor * factor;
    }
  }
#if ACCRUE_HAS_LANES
  [[nodiscard]] ACCRUE_ALWAYS_INLINE lanes<float> operator()(lanes<float> const& sum) const {
    if constexpr (has_fused_lanes) {
      if (splits) return fused(sum, high, sum * low);
    }
    return lanes_as<float>(lanes_as<double>(sum) * scale);
  }
  [[nodiscard]] ACCRUE_ALWAYS_INLINE lanes<double> operator()(lanes<double> const& sum) const {
    return sum / divisor * factor;
  }
#endif
};

/// A clip and a rule that take lanes as they take elements, on parameters that lanes can be loaded from.
template <class P, class B, class Rule, class Clip>
concept applies_lanes = lane_scalar<P> && lane_scalar<B> && Rule::by_lanes && Clip::by_lanes &&
    (sizeof(P) > 2 || sizeof(B) == sizeof(float));

/// Where no copy of a parameter is written.
struct no_copy {
  template <class Value>
  KOKKOS_FUNCTION void put(std::int64_t, Value const&) const {}
};

/// A copy of scalar `C`, into which each new value of a parameter is rounded.
template <class C>
struct rounded_copy {
  strided to;
  bool contiguous;
  KOKKOS_FUNCTION explicit rounded_copy(strided const& copy) : to(copy), contiguous(copy.contiguous()) {}

  template <class P>
  KOKKOS_FUNCTION void put(std::int64_t i, P const& parameter) const {
    static_cast<C*>(to.data)[contiguous ? i : to.offset(i)] = narrow<C>(parameter);
  }
#if ACCRUE_HAS_LANES
  ACCRUE_ALWAYS_INLINE void put(std::int64_t i, lanes<accumulation_scalar_t<C>> const& parameters) const {
    if (contiguous) {
      store_lanes(parameters, static_cast<C*>(to.data) + i);
    } else {
      for (std::int64_t lane = 0; lane < lane_count; ++lane) put(i + lane, parameters[static_cast<std::size_t>(lane)]);
    }
  }
#endif
};

/// Whether a copy takes lanes of parameters of scalar `P`: rounded once, as one by one.
template <class Copy, class P>
inline constexpr bool copies_lanes = false;
template <class P>
inline constexpr bool copies_lanes<no_copy, P> = true;
template <lane_scalar C, lane_scalar P>
inline constexpr bool copies_lanes<rounded_copy<C>, P> = std::is_same_v<accumulation_scalar_t<C>, P>;

/// Calls `visit` with the copy of a view, one of the scalars in the list, or with none.
template <class... Scalars>
KOKKOS_FUNCTION void with_copy(type_list<Scalars...>, strided const* copies, std::int32_t view, auto const& visit) {
  if constexpr (sizeof...(Scalars) == 0) {
    visit(no_copy{});
  } else {
    bool const written =
        ((copies[view].scalar == scalar_id<Scalars>() && (visit(rounded_copy<Scalars>(copies[view])), true)) || ...);
    if (!written) visit(no_copy{});
  }
}

/// Divides, clips and hands one element to a rule: parameter and gradient in the scalar of the buffer, its state by
/// reference. G = S / divisor, times the clip factor, then bounded by value.
template <class P, class B, class Rule, class Clip, class Copy = no_copy>
struct apply_element {
  B* sum;
  B* state;
  std::int64_t words_apart;
  Rule rule;
  Clip clip;
  quotient_by by;
  Copy copy{};

  KOKKOS_FUNCTION void operator()(std::int64_t i, P& parameter) const {
    B const gradient = clip.bounded(by(sum[i]));
    if constexpr (requires { rule.keep(sum[i], gradient); }) {
      rule.keep(sum[i], gradient);
    } else {
      B value = B(widen(parameter));
      rule(value, gradient, element_state<B>{state + i, words_apart});
      parameter = narrow<P>(value);
      copy.put(i, parameter);
    }
  }

#if ACCRUE_HAS_LANES
  ACCRUE_ALWAYS_INLINE void by_lanes(std::int64_t i, P* parameter) const
      requires(applies_lanes<P, B, Rule, Clip>&& copies_lanes<Copy, P>) {
    lanes<B> const gradient = clip.bounded(by(load_lanes(sum + i)));
    lanes<B> value = lanes_as<B>(load_lanes(parameter));
    rule(value, gradient, lane_state<B>{state + i, words_apart});
    auto const rounded = lanes_as<accumulation_scalar_t<P>>(value);
    store_lanes(rounded, parameter);
    copy.put(i, rounded);
  }
#endif
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

/// The update pass: reads the buffer, writes parameters and state. Every worker settles the decision for itself, from
/// the same few numbers; the last one enters it in the record. Where it is not to apply nothing else is touched, and
/// views that no microbatch of the group touched are passed over.
template <class P, class B, class Rules, class Clip, class Decide, class Copies = type_list<>>
struct apply_chunk {
  chunk const* chunks;
  strided const* parameters;
  strided const* sums;
  placement const* placements;
  std::uint8_t const* touched;
  double const* keep;                   ///< what the sums are multiplied by
  std::int64_t const* updates_of_view;  ///< before this one
  B* state;
  std::int64_t words_apart;
  Rules rules;
  Clip clip;
  Decide decide;
  exit_gate gate;
  strided const* copies = nullptr;  ///< of each view, in one of the scalars `Copies`

  template <class Worker>
  struct with_rule {
    apply_chunk const& pass;
    chunk part;
    quotient_by by;
    Worker worker;

    template <class Rule>
    KOKKOS_FUNCTION void operator()(Rule const& rule) const {
      auto const element_rule = rule.template for_update<real_t<B>>(pass.updates_of_view[part.view] + 1);
      using element_rule_type = std::remove_const_t<decltype(element_rule)>;
      with_copy(Copies{}, pass.copies, part.view, [&]<class Copy>(Copy const& copy) {
        walk<P>(pass.parameters[part.view], part, worker,
                apply_element<P, B, element_rule_type, Clip, Copy>{
                    static_cast<B*>(pass.sums[part.view].data), pass.state + pass.placements[part.view].begin,
                    pass.words_apart, element_rule, pass.clip, by, copy});
      });
    }
  };

  [[nodiscard]] KOKKOS_FUNCTION decision enter() const { return decide.settle(); }

  template <class Worker>
  KOKKOS_FUNCTION void operator()(decision const& verdict, std::int64_t c, Worker worker) const {
    chunk const part = chunks[c];
    if (verdict.apply == 0 || touched[part.view] == 0) return;
    quotient_by const by(verdict.divisor / keep[part.view], verdict.clip_factor);
    rules.visit(placements[part.view].group, with_rule<Worker>{*this, part, by, worker});
  }
  template <class Worker>
  KOKKOS_FUNCTION void leave(Worker worker) const {
    decide.enter_record(worker);
  }
};

}  // namespace accrue
#endif

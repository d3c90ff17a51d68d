// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_APPLY_HPP
#define ACCRUE_PASSES_APPLY_HPP

#include <accrue/core/decision.hpp>
#include <accrue/core/lane_memory.hpp>
#include <accrue/core/packets.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/core/type_list.hpp>
#include <accrue/passes/block.hpp>
#include <accrue/passes/launch.hpp>
#include <accrue/passes/quotient.hpp>
#include <accrue/passes/writers.hpp>

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

/// So many words of state a device thread holds for a packet; rules with more, or with an unknown number, take elements
/// one by one there.
inline constexpr int packet_words = 4;
inline constexpr int unknown_words = packet_words + 1;

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

/// A clip and a rule that take lanes as they take elements, on parameters that lanes can be loaded from.
template <class P, class B, class Rule, class Clip>
concept applies_lanes = lane_scalar<P> && lane_scalar<B> && Rule::by_lanes && Clip::by_lanes &&
    (sizeof(P) > 2 || sizeof(B) == sizeof(float));

/// Divides, clips and hands one element to a rule: parameter and gradient in the scalar of the buffer, its state by
/// reference. G = S / divisor, times the clip factor, then bounded by value.
template <class P, class B, class Rule, class Clip, class Writer = to_nearest>
struct apply_element {
  static constexpr int packet_size = packet_size_of<P, B>;
  static constexpr bool keeps = requires(Rule const rule, B& sum, B const& gradient) { rule.keep(sum, gradient); };

  B* sum;
  B* state;
  std::int64_t words_apart;
  Rule rule;
  Clip clip;
  quotient_by by;
  Writer writer{};
  int words = unknown_words;

  KOKKOS_FUNCTION void operator()(std::int64_t i, P& parameter) const {
    B const gradient = clip.bounded(by(sum[i]));
    if constexpr (keeps) {
      rule.keep(sum[i], gradient);
    } else {
      B value = B(widen(parameter));
      rule(value, gradient, element_state<B>{state + i, words_apart});
      parameter = writer.template rounded<P>(i, value);
      writer.put(i, parameter);
    }
  }

  [[nodiscard]] KOKKOS_FUNCTION bool packets_at(std::int64_t i, P const* parameter) const {
    return words <= packet_words && packets_begin_at<packet_size>(parameter) &&
           packets_begin_at<packet_size>(sum + i, state + i);
  }
  /// What the operator does, for a packet, on copies in registers.
  KOKKOS_FORCEINLINE_FUNCTION void by_packet(std::int64_t i, P* parameter) const {
    packet<P, packet_size> parameters{};
    packet<B, packet_size> sums;
    packet<B, packet_size * packet_words> states{};
    auto const for_words = [&](auto const& call) {
      for_packet<packet_words>([&](int word) {
        if (word < words) call(state + i + word * words_apart, states.at + word * packet_size);
      });
    };
    auto const writer_of_copies = writer.near(i);
    apply_element<P, B, Rule, Clip, std::remove_const_t<decltype(writer_of_copies)>> const near{
        sums.at, states.at, packet_size, rule, clip, by, writer_of_copies};
    copy_packet<packet_size>(sum + i, sums.at);
    if constexpr (!keeps) {
      copy_packet<packet_size>(parameter, parameters.at);
      for_words([](B const* there, B* here) { copy_packet<packet_size>(there, here); });
    }
    for_packet<packet_size>([&](int k) { near(k, parameters.at[k]); });
    if constexpr (keeps) {
      copy_packet<packet_size>(sums.at, sum + i);
    } else {
      copy_packet<packet_size>(parameters.at, parameter);
      for_words([](B* there, B const* here) { copy_packet<packet_size>(here, there); });
      writer.put(i, parameters);
    }
  }

#if ACCRUE_HAS_LANES
  ACCRUE_ALWAYS_INLINE void by_lanes(std::int64_t i, P* parameter) const
      requires(applies_lanes<P, B, Rule, Clip>&& writes_lanes<Writer, P>) {
    lanes<B> const gradient = clip.bounded(by(load_lanes(sum + i)));
    lanes<B> value = lanes_as<B>(load_lanes(parameter));
    rule(value, gradient, lane_state<B>{state + i, words_apart});
    auto const rounded = lanes_as<accumulation_scalar_t<P>>(value);
    writer.store(i, rounded, parameter);
    writer.put(i, rounded);
  }
#endif
};

/// A rule for every parameter group, and how many words of state it keeps, chosen by number; one after the other,
/// because std::tuple has no device functions.
template <class... Rules>
struct rule_list;

template <class Rule>
struct rule_list<Rule> {
  Rule rule;
  int words = unknown_words;
  template <class Visit>
  KOKKOS_FUNCTION void visit(std::int32_t, Visit const& visit) const {
    visit(rule, words);
  }
};

template <class Rule, class Next, class... Rest>
struct rule_list<Rule, Next, Rest...> {
  Rule rule;
  rule_list<Next, Rest...> rest;
  int words = unknown_words;
  template <class Visit>
  KOKKOS_FUNCTION void visit(std::int32_t group, Visit const& visitor) const {
    if (group == 0) {
      visitor(rule, words);
    } else {
      rest.visit(group - 1, visitor);
    }
  }
};

/// The update pass: reads the buffer, writes parameters and state. Every worker settles the decision for itself, from
/// the same few numbers; the last one enters it in the record. Where it is not to apply nothing else is touched, and
/// views that no microbatch of the group touched are passed over.
template <class P, class B, class Rules, class Clip, class Decide, class Writers = type_list<>>
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
  parameter_writing const* writing = nullptr;  ///< of each view, by one of `Writers`

  template <class Worker>
  struct with_rule {
    apply_chunk const& pass;
    chunk part;
    quotient_by by;
    Worker worker;

    template <class Rule>
    KOKKOS_FUNCTION void operator()(Rule const& rule, int words) const {
      std::int64_t const update = pass.updates_of_view[part.view] + 1;
      auto const element_rule = rule.template for_update<real_t<B>>(update);
      using element_rule_type = std::remove_const_t<decltype(element_rule)>;
      with_writer(Writers{}, pass.writing, part.view, update, [&]<class Writer>(Writer const& writer) {
        walk<P>(pass.parameters[part.view], part, worker,
                apply_element<P, B, element_rule_type, Clip, Writer>{
                    static_cast<B*>(pass.sums[part.view].data), pass.state + pass.placements[part.view].begin,
                    pass.words_apart, element_rule, pass.clip, by, writer, words});
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

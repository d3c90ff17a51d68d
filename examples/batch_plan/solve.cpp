// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topics.hpp"

#include <array>
#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace batch_plan {
namespace {

using accrue::joined;
using accrue::positions;

/// A target that was given, and its field.
template <class Unit>
struct wanted {
  in field;
  plan::batch_target<Unit> target;
};
template <class Unit>
wanted(in, plan::batch_target<Unit>) -> wanted<Unit>;

/// One of the two counts that a target lies between, in a row of the table and in words.
template <class Unit>
std::string say_neighbour(answers& to, plan::batch_target<Unit> const& target, samples all) {
  std::string const count = std::to_string(all.value());
  say(to, "samples_per_update", all.value());
  if constexpr (std::same_as<Unit, positions>) {
    std::int64_t const here = all.value() * target.each();  // a neighbour's fit into 63 bits
    say(to, "positions_per_update", here);
    return joined({count, " samples, ", std::to_string(here), " positions"});
  } else if constexpr (std::same_as<Unit, tokens>) {
    double const here = token_average{tokens{target.each()}, samples{target.in()}}.in(all);
    say(to, "tokens_per_update", here);
    return joined({count, " samples, about ", std::to_string(std::llround(here)), " tokens"});
  } else {
    return count;
  }
}

/// The count; or nothing, a complaint, and the neighbours of the target.
template <class Unit, class Count>
std::optional<Count> solved(report_writer& out, wanted<Unit> const& of,
                            plan::planned<Count, plan::missed_target<Count, Unit>> const& found) {
  if (found) return found.value();
  plan::missed_target<Count, Unit> const missed = *found.reason();
  if (missed.why != plan::refusal::off_target) {
    out.complain(of.field, text_of(missed.why));
    return std::nullopt;
  }
  // What accrue::error says, as far as it is about the neighbours.
  constexpr bool is_size = std::same_as<Count, samples>;  // of a microbatch
  constexpr std::string_view unknown = is_size ? "microbatch" : Count::unit_type::name;
  std::string text = joined({is_size ? "no " : "no whole number of ", unknown, " gives ",
                             std::to_string(missed.target.value()), " ", Unit::unit_type::name, " an update"});
  for (auto const& offer : {missed.below, missed.above}) {
    if (!offer) continue;
    auto& to = out.row_of("neighbours");
    say(to, unknown, offer->count.value(), is_size ? "samples" : "");
    text +=
        joined({"; ", is_size ? "one of " : "", std::to_string(offer->count.value()), is_size ? " gives " : " give "});
    text += say_neighbour(to, of.target, offer->effective_batch);
  }
  out.complain(of.field, std::move(text));
  return std::nullopt;
}

std::optional<batch> product(report_writer& out, in target, samples micro, microbatches group, replicas across) {
  auto const all = out.want(plan::effective_batch(micro, group, across), out.has(in::micro) ? in::micro : target);
  if (!all) return std::nullopt;
  return batch{micro, group, across, *all};
}

std::optional<samples> largest_that_fits(report_writer& out, plan::memory_line const& memory, in field, samples target,
                                         replicas across) {
  auto const largest = out.want(plan::largest_microbatch(memory, out.number(in::memory)), in::memory);
  if (!largest) return std::nullopt;
  if (target.value() / across.value() > most_searched) {
    out.complain(field, "more than 10^12 samples of a replica; no list of plans is made of so many");
    return std::nullopt;
  }
  auto const cut = out.want(plan::uneven_group(target, *largest, across), field);
  if (!cut) return std::nullopt;
  return samples{plan::largest_divisor(target.value() / across.value(), cut->microbatch.value())};
}

void say_uneven(report_writer& out, samples target, samples micro, replicas across) {
  auto const cut = plan::uneven_group(target, micro, across);
  if (!cut) return;
  auto& to = out.only("uneven_group");
  say(to, "microbatch", cut.value().microbatch.value(), "samples");
  say(to, "microbatches", cut.value().group.value());
  say(to, "last_microbatch", cut.value().last.value(), "samples");
  say(to, "samples_per_update", target.value());
}

/// Whichever of m, A and D is missing, from the others.
template <class Unit>
std::optional<batch> solve_for(report_writer& out, setting const& known, wanted<Unit> const& of) {
  std::optional<samples> micro;
  std::optional<microbatches> group;
  std::optional<replicas> across = known.across;
  if (out.has(in::micro)) micro = samples{out.number(in::micro)};
  if (out.has(in::accumulate)) group = microbatches{out.number(in::accumulate)};
  auto const exact = of.target.in_samples();
  if (micro && group && across) {
    auto const found = product(out, of.field, *micro, *group, *across);
    if (found && exact != found->all) {
      out.complain(of.field, joined({"m x A x D is ", std::to_string(found->all.value()),
                                     std::same_as<Unit, samples> ? "" : " samples",
                                     "; leave one of the three out to have it solved for"}));
      return std::nullopt;
    }
    return found;
  }
  if (micro && group) {
    across = solved(out, of, plan::replicas_for(of.target, *micro, *group));
    if (!across) return std::nullopt;
  }
  replicas const all_of_them = across.value_or(replicas{1});
  if (!micro && !group && known.memory && out.has(in::memory)) {
    if (!exact)  // no microbatch at all: the nearest ones, of a group of one
      (void)solved(out, of, plan::microbatch_size_for(of.target, microbatches{1}, all_of_them));
    else
      micro = largest_that_fits(out, *known.memory, of.field, exact.value(), all_of_them);
  }
  if (!micro && !group && out.is_flawless()) out.complain(in::micro, "missing; give m, A, or the memory that there is");
  if (!out.is_flawless()) return std::nullopt;
  if (!group) group = solved(out, of, plan::microbatches_for(of.target, *micro, all_of_them));
  if (!group) {
    if (exact) say_uneven(out, exact.value(), *micro, all_of_them);
    return std::nullopt;
  }
  if (!micro) micro = solved(out, of, plan::microbatch_size_for(of.target, *group, all_of_them));
  if (!micro) return std::nullopt;
  return product(out, of.field, *micro, *group, all_of_them);
}

/// False, and a complaint, where there are several.
bool is_one_target(report_writer& out) {
  std::optional<in> first;
  for (in each : {in::target, in::target_positions, in::target_tokens}) {
    if (!out.has(each)) continue;
    if (first) out.complain(each, joined({"a second target; leave out this or ", name_of(*first)}));
    if (!first) first = each;
  }
  return out.is_flawless();
}

}  // namespace

std::optional<batch> solve(report_writer& out, setting const& known) {
  if (!is_one_target(out)) return std::nullopt;
  if (out.has(in::target))
    return solve_for(out, known, wanted{in::target, plan::batch_target(samples{out.number(in::target)})});
  if (out.has(in::target_positions)) {
    if (!out.has(in::length)) out.complain(in::length, "missing; a target in positions needs it");
    if (!out.has(in::length)) return std::nullopt;
    plan::batch_target const target(positions{out.number(in::target_positions)}, plan::length{out.number(in::length)});
    return solve_for(out, known, wanted{in::target_positions, target});
  }
  if (out.has(in::target_tokens)) {
    auto const average = measured_average(out);
    if (!average) return std::nullopt;
    plan::batch_target const target(tokens{out.number(in::target_tokens)}, average->all, average->count);
    return solve_for(out, known, wanted{in::target_tokens, target});
  }
  if (!out.has(in::micro)) {
    out.complain(in::micro, "missing; give the samples of a microbatch, or a target");
    return std::nullopt;
  }
  return product(out, in::micro, samples{out.number(in::micro)}, microbatches{out.number(in::accumulate, 1)},
                 known.across.value_or(replicas{1}));
}

void say_batch(report_writer& out, batch const& of) {
  auto& to = out.only("batch");
  say(to, "microbatch", of.micro.value(), "samples");
  say(to, "group", of.group.value(), "microbatches");
  say(to, "replicas", of.across.value());
  say(to, "samples_per_update", of.all.value());
  if (out.has(in::length)) {
    auto const all = out.want(
        plan::positions_per_update(of.micro, plan::length{out.number(in::length)}, of.group, of.across), in::length);
    if (all) say(to, "positions_per_update", all->value());
  }
  if (out.has(in::tokens_per_sample) || out.has(in::target_tokens))
    if (auto const average = measured_average(out)) say(to, "tokens_per_update", average->in(of.all));
  if (of.all.value() / of.across.value() > most_searched) return;
  if (auto const smaller = plan::smaller_microbatch(of.all, of.micro, of.across)) {
    say(to, "smaller_microbatch", smaller.value().microbatch.value(), "samples");
    say(to, "its_group", smaller.value().group.value(), "microbatches");
  }
}

}  // namespace batch_plan

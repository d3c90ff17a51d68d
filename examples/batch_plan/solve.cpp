// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topics.hpp"

#include <optional>
#include <string>
#include <utility>

namespace batch_plan {
namespace {

template <class Count>
std::optional<Count> solved(report_writer& out, plan::planned<Count, plan::missed_target<Count>> const& found) {
  if (found) return found.value();
  plan::missed_target<Count> const missed = *found.reason();
  if (missed.why != plan::refusal::off_target) {
    out.complain(in::target, text_of(missed.why));
    return std::nullopt;
  }
  // What accrue::error says, as far as it is about the neighbours.
  std::string text = accrue::joined({"no whole number of ", Count::unit_type::name, " gives ",
                                     std::to_string(missed.target.value()), " samples an update"});
  for (auto const& offer : {missed.below, missed.above}) {
    if (!offer) continue;
    auto& to = out.row_of("neighbours");
    say(to, Count::unit_type::name, offer->count.value());
    say(to, "samples_per_update", offer->effective_batch.value());
    text += accrue::joined(
        {"; ", std::to_string(offer->count.value()), " give ", std::to_string(offer->effective_batch.value())});
  }
  out.complain(in::target, std::move(text));
  return std::nullopt;
}

std::optional<batch> product(report_writer& out, samples micro, microbatches group, replicas across) {
  auto const all = out.want(plan::effective_batch(micro, group, across), out.has(in::micro) ? in::micro : in::target);
  if (!all) return std::nullopt;
  return batch{micro, group, across, *all};
}

bool searchable(report_writer& out, samples target, replicas across) {
  if (target.value() / across.value() <= most_searched) return true;
  out.complain(in::target, "more than 10^12 samples of a replica; no list of plans is made of so many");
  return false;
}

std::optional<samples> largest_that_fits(report_writer& out, plan::memory_line const& memory, samples target,
                                         replicas across) {
  auto const largest = out.want(plan::largest_microbatch(memory, out.number(in::memory)), in::memory);
  if (!largest || !searchable(out, target, across)) return std::nullopt;
  auto const cut = out.want(plan::uneven_group(target, *largest, across), in::target);
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

}  // namespace

std::optional<batch> solve(report_writer& out, setting const& known) {
  std::optional<replicas> solved_across = known.across;
  std::optional<samples> micro;
  std::optional<microbatches> group;
  if (out.has(in::micro)) micro = samples{out.number(in::micro)};
  if (out.has(in::accumulate)) group = microbatches{out.number(in::accumulate)};
  if (!out.has(in::target)) {
    if (!micro) out.complain(in::micro, "missing; give the samples of a microbatch, or a target");
    if (!micro) return std::nullopt;
    return product(out, *micro, group.value_or(microbatches{1}), solved_across.value_or(replicas{1}));
  }
  samples const target{out.number(in::target)};
  if (micro && group && solved_across) {
    auto const found = product(out, *micro, *group, *solved_across);
    if (found && found->all != target) {
      out.complain(in::target, accrue::joined({"m x A x D is ", std::to_string(found->all.value()),
                                               "; leave one of the three out to have it solved for"}));
      return std::nullopt;
    }
    return found;
  }
  if (micro && group) solved_across = solved(out, plan::replicas_for(target, *micro, *group));
  if (!solved_across && !out.is_flawless()) return std::nullopt;
  replicas const across = solved_across.value_or(replicas{1});
  if (!micro && !group && known.memory && out.has(in::memory))
    micro = largest_that_fits(out, *known.memory, target, across);
  if (!micro && !group && out.is_flawless()) out.complain(in::micro, "missing; give m, A, or the memory that there is");
  if (!out.is_flawless()) return std::nullopt;
  if (!group) group = solved(out, plan::microbatches_for(target, *micro, across));
  if (!group) {
    say_uneven(out, target, *micro, across);
    return std::nullopt;
  }
  if (!micro) micro = solved(out, plan::microbatch_size_for(target, *group, across));
  if (!micro) return std::nullopt;
  return product(out, *micro, *group, across);
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
  if (of.all.value() / of.across.value() > most_searched) return;
  if (auto const smaller = plan::smaller_microbatch(of.all, of.micro, of.across)) {
    say(to, "smaller_microbatch", smaller.value().microbatch.value(), "samples");
    say(to, "its_group", smaller.value().group.value(), "microbatches");
  }
}

}  // namespace batch_plan

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topics.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace batch_plan {
namespace {

using accrue::joined;
using group_for = plan::planned<microbatches, plan::missed_target<microbatches>>;

/// The group of a value of the ramp, which is a group itself or the samples of an update.
group_for group_of(batch const&, microbatches group) {
  if (group == microbatches{}) return plan::missed_target<microbatches>{plan::refusal::empty_group};
  return group;
}
group_for group_of(batch const& of, samples all) { return plan::microbatches_for(all, of.micro, of.across); }

/// Complains of a number that a user gave and that no group has exactly; `what` it is begins the complaint.
template <class Value>
bool is_had(report_writer& out, batch const& of, in field, std::string_view what, Value value) {
  auto const complain = [&](std::string_view text) {
    out.complain(field, joined({what, text}));
    return false;
  };
  auto const found = group_of(of, value);
  if (found) {
    auto const all = plan::effective_batch(of.micro, found.value(), of.across);
    return all || complain(text_of(*all.reason()));
  }
  plan::missed_target<microbatches> const missed = *found.reason();
  if (missed.why != plan::refusal::off_target) return complain(text_of(missed.why));
  std::string text =
      joined({"no whole number of microbatches gives ", std::to_string(value.value()), " samples an update"});
  for (auto const& offer : {missed.below, missed.above})
    if (offer)
      text += joined(
          {"; ", std::to_string(offer->count.value()), " give ", std::to_string(offer->effective_batch.value())});
  return complain(text);
}

/// The group at a point of the ramp. Between its ends a batch may lie between two groups: `at_least` closes with the
/// larger one.
template <class Value>
plan::planned<plan::neighbour<microbatches>> reached(batch const& of, Value value) {
  auto const found = group_of(of, value);
  if (!found && found.reason()->above) return *found.reason()->above;
  if (!found) return plan::refusal::too_large;
  auto const all = plan::effective_batch(of.micro, found.value(), of.across);
  if (!all) return *all.reason();
  return plan::neighbour{found.value(), all.value()};
}

/// A row of the table; false, and a complaint, where there is none.
template <class Value, class Count>
bool say_at(report_writer& out, batch const& of, in field, Count count, plan::planned<Value> const& value) {
  auto const now = out.want(value, field);
  if (!now) return false;
  auto const group = out.want(reached(of, *now), field);
  if (!group) return false;
  auto& to = out.row_of("ramp");
  say(to, Count::unit_type::name, count.value());
  if constexpr (std::same_as<Value, samples>) say(to, "target", now->value(), "samples");
  say(to, "group", group->count.value(), "microbatches");
  say(to, "samples_per_update", group->effective_batch.value());
  return true;
}

template <class Value, class Count>
void say_line(report_writer& out, batch const& of, Value smallest, Value planned) {
  Value const from = out.has(in::ramp_from) ? Value{out.number(in::ramp_from)} : smallest;
  Value const to = out.has(in::ramp_to) ? Value{out.number(in::ramp_to)} : planned;
  if (!is_had(out, of, in::ramp_from, "", from) || !is_had(out, of, in::ramp_to, "", to)) return;
  std::int64_t const whole = out.number(in::ramp);
  plan::linear_ramp<Value, Count> const line{from, to, Count{whole}};
  std::int64_t last = -1;
  for (std::int64_t part = 0; part <= 4; ++part) {
    std::int64_t const count = whole / 4 * part + whole % 4 * part / 4;
    if (count == last) continue;  // of a ramp over less than 4
    if (!say_at(out, of, in::ramp, Count{count}, line.at(Count{count}))) return;
    last = count;
  }
}

template <class Value, class Count>
void say_stages(report_writer& out, batch const& of) {
  auto const& numbers = out.numbers(in::ramp_stages);
  std::vector<plan::stage<Value, Count>> stages;
  for (std::size_t i = 0; i < numbers.size(); i += 2) stages.push_back({Count{numbers[i]}, Value{numbers[i + 1]}});
  std::span<plan::stage<Value, Count> const> const all(stages);
  auto const name = [&](std::size_t s) {
    return joined({"stage ", std::to_string(s + 1), ", ", std::to_string(stages[s].from.value()), ":",
                   std::to_string(stages[s].value.value()), ": "});
  };
  if (auto const wrong = plan::misplaced_stage(all))
    return out.complain(in::ramp_stages, name(*wrong) + (*wrong == 0 ? "the first one begins at 0"
                                                                     : "it does not begin after the one before"));
  for (std::size_t s = 0; s < stages.size(); ++s)
    if (!is_had(out, of, in::ramp_stages, name(s), stages[s].value)) return;
  for (auto const& each : stages)
    if (!say_at(out, of, in::ramp_stages, each.from, plan::value_at(all, each.from))) return;
}

template <class Value, class Count>
void say_ramp_of(report_writer& out, batch const& of, Value smallest, Value planned) {
  if (out.has(in::ramp_stages)) return say_stages<Value, Count>(out, of);
  say_line<Value, Count>(out, of, smallest, planned);
}

template <class Value>
void say_ramp_by_choice(report_writer& out, batch const& of, Value smallest, Value planned) {
  switch (out.number(in::ramp_by)) {
    case 0:
      return say_ramp_of<Value, updates>(out, of, smallest, planned);
    case 1:
      return say_ramp_of<Value, samples>(out, of, smallest, planned);
    default:
      return say_ramp_of<Value, tokens>(out, of, smallest, planned);
  }
}

}  // namespace

void say_ramp(report_writer& out, batch const& of) {
  for (in end : {in::ramp_from, in::ramp_to})
    if (out.has(end) && !out.has(in::ramp))
      return out.complain(end, "of a straight line; give its length as ramp, or leave this out");
  if (out.has(in::ramp) && out.has(in::ramp_stages))
    return out.complain(in::ramp_stages, "a second ramp; leave out this or ramp");
  bool const ramps = out.has(in::ramp) || out.has(in::ramp_stages);
  for (in manner : {in::ramp_of, in::ramp_by})
    if (out.has(manner) && !ramps)
      return out.complain(manner, "of no ramp; give ramp or ramp_stages, or leave this out");
  if (!ramps) return;
  bool const has_end = out.has(in::ramp_to) || out.has(in::ramp_stages) || out.has(in::accumulate);
  if (!has_end && !out.has(in::target) && !out.has(in::target_positions) && !out.has(in::target_tokens))
    return out.complain(in::accumulate, "missing; a ramp leads to it: give it, a target or ramp_to");
  if (out.number(in::ramp_of) == 0)
    say_ramp_by_choice(out, of, microbatches{1}, of.group);
  else
    say_ramp_by_choice(out, of, samples{of.all.value() / of.group.value()}, of.all);
}

}  // namespace batch_plan

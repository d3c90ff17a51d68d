// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_LEDGER_RUN_SHEET_SECTIONS_HPP
#define ACCRUE_LEDGER_RUN_SHEET_SECTIONS_HPP

#include <accrue/ledger/run_sheet.hpp>
#include <accrue/ledger/sheet_section.hpp>
#include <accrue/ledger/sheet_text.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace accrue {

namespace detail {

[[nodiscard]] inline sheet_section batch_section(run_sheet const& s) {
  extremes const& real = s.history.samples();
  auto const of_updates = [&](std::int64_t value) { return real.count > 0 ? sheet_value{value} : sheet_value{}; };
  return {"batch",
          "Batch",
          {{"microbatch", "samples of a microbatch, m, as planned", known(s.plan.microbatch)},
           {"group", "microbatches of a group, A", known(s.group_size)},
           {"replicas", "replicas, D", known(s.replicas)},
           {"nominal", "effective batch, m * A * D, as planned", known(s.plan.batch())},
           {"mean", "samples of an applied update, on average", known(s.real_batch())},
           {"least", "samples of an applied update, fewest", of_updates(real.least)},
           {"most", "samples of an applied update, most", of_updates(real.most)},
           {"normalization", "normalization", s.normalization},
           {"boundary", "a group is full at", s.boundary},
           {"last_group", "a short last group", s.last_group}},
          {}};
}

[[nodiscard]] inline sheet_section data_section(run_sheet const& s) {
  ledger const& l = s.ledger;
  group_counts const& all = l.over_replicas();
  return {"data",
          "Data",
          {{"microbatches", "microbatches", l.microbatches().value()},
           {"ignored_microbatches", "microbatches that declare nothing", l.ignored_microbatches().value()},
           {"samples", "samples", l.samples().value()},
           {"tokens", "supervised tokens", l.tokens().value()},
           {"ignored_tokens", "ignored tokens", l.ignored_tokens().value()},
           {"positions", "positions, padding included", l.positions().value()},
           {"samples_over_replicas", "samples of all replicas, in closed groups", all.samples.value()},
           {"tokens_over_replicas", "supervised tokens of all replicas, in closed groups", all.tokens.value()},
           {"ignored_tokens_over_replicas", "ignored tokens of all replicas, in closed groups",
            all.ignored_tokens.value()}},
          {},
          "No microbatch came."};
}

[[nodiscard]] inline sheet_section updates_section(run_sheet const& s) {
  ledger const& l = s.ledger;
  return {"updates",
          "Updates",
          {{"attempted", "attempted", l.attempted().value()},
           {"applied", "applied", l.applied().value()},
           {"skipped_non_finite", "skipped as non-finite", l.skipped().value()},
           {"vetoed", "vetoed", l.vetoed().value()},
           {"groups", "groups closed", l.groups()},
           {"empty_groups", "groups empty", l.empty_groups()},
           {"dropped_groups", "groups dropped or discarded", l.dropped_groups()},
           {"times_carried", "last groups carried into the next pass", l.times_carried()}},
          {}};
}

[[nodiscard]] inline sheet_section left_out_section(run_sheet const& s) {
  ledger const& l = s.ledger;
  group_counts const dropped = l.dropped(), rejected = l.rejected();
  std::int64_t causes[3] = {};
  for (rejection const& each : l.rejections()) ++causes[static_cast<std::size_t>(each.cause)];
  return {"left_out",
          "Left out",
          {{"skipped_samples", "samples of updates skipped or vetoed", s.history.unused().samples.value()},
           {"skipped_tokens", "tokens of updates skipped or vetoed", s.history.unused().tokens.value()},
           {"dropped_samples", "samples dropped", dropped.samples.value()},
           {"dropped_tokens", "tokens dropped", dropped.tokens.value()},
           {"open_microbatches", "microbatches carried, in the open group", s.open.microbatches.value()},
           {"open_samples", "samples carried", s.open.samples.value()},
           {"open_tokens", "tokens carried", s.open.tokens.value()},
           {"rejected_microbatches", "microbatches rejected", rejected.microbatches.value()},
           {"rejected_samples", "samples rejected", rejected.samples.value()},
           {"rejected_tokens", "tokens rejected", rejected.tokens.value()},
           {"not_a_number", "of the last 256 rejections: for NaN", causes[0]},
           {"infinite", "of the last 256 rejections: for Inf", causes[1]},
           {"norm_too_large", "of the last 256 rejections: for their norm", causes[2]}},
          {},
          "Nothing."};
}

[[nodiscard]] inline sheet_section numbers_section(run_sheet const& s) {
  sheet_table scales{
      "changes", "The loss scale was 1 all the time.", {{"group", "group"}, {"scale", "loss scale from it on"}}, {}};
  auto const& changes = s.history.scale_changes();
  bool const scaled = changes.size() > 1 || (changes.size() == 1 && changes.front().scale != 1.0);
  for (std::size_t i = 0; scaled && i < changes.size(); ++i)
    scales.rows.push_back({changes[i].group, changes[i].scale});
  return {"numbers",
          "Numbers",
          {{"parameters", "parameters", s.parameters},
           {"sums", "gradients are summed in", s.sums},
           {"loss_scale", "last loss scale",
            s.history.seen() > 0 ? sheet_value{s.history.last().loss_scale} : sheet_value{}},
           {"largest_norm", "largest norm of an applied update, before clipping",
            s.history.samples().count > 0 ? sheet_value{s.history.largest_norm()} : sheet_value{}},
           {"clipped", "updates clipped by their norm", s.history.clipped()},
           {"changes_left_out", "changes of the loss scale that are not listed",
            scaled ? sheet_value{s.history.scale_changes_left_out()} : sheet_value{}}},
          {std::move(scales)}};
}

[[nodiscard]] inline sheet_section recipe_section(run_sheet const& s) {
  sheet_table policies{"policies", "", {{"policy", "policy"}}, {}};
  for (std::string const& each : s.recipe) policies.rows.push_back({each});
  return {"recipe", "Recipe, as it ended", {}, {std::move(policies)}};
}

[[nodiscard]] inline sheet_section memory_section(run_sheet const& s) {
  sheet_table spaces{
      "spaces",
      "Memory was not watched.",
      {{"space", "space"}, {"baseline", "bytes before the groups"}, {"peak", "most"}, {"current", "at the end"}},
      {}};
  auto const row = [](memory_peak const& m) {
    return std::vector<sheet_value>{m.space, m.baseline, m.peak, m.current};
  };
  auto const& members = s.memory.members;
  if (members.empty()) {
    for (memory_of_space const& each : s.memory.spaces) spaces.rows.push_back(row(each.whole));
  } else {
    spaces.columns.insert(spaces.columns.begin(), {"member", "member"});
    for (std::size_t m = 0; m < members.size(); ++m)
      for (memory_peak const& each : members[m]) {
        spaces.rows.push_back(row(each));
        spaces.rows.back().insert(spaces.rows.back().begin(), static_cast<std::int64_t>(m));
      }
  }
  sheet_table leaks{"leaks",
                    "",
                    {{"space", "suspected leak in"},
                     {"label", "most of it labelled"},
                     {"groups", "groups in a row that ended with more"},
                     {"bytes", "bytes more"}},
                    {}};
  for (suspected_leak const& each : s.memory.leaks)
    leaks.rows.push_back(
        {each.space, text_or_none(each.labels.empty() ? "" : each.labels.front().label), each.groups, each.bytes});
  return {"memory", "Memory", {}, {std::move(spaces), std::move(leaks)}};
}

[[nodiscard]] inline sheet_section communication_section(run_sheet const& s) {
  sheet_table spent{"spent",
                    "No transport that counts.",
                    {{"calls", "calls"}, {"bytes", "bytes handed over"}, {"seconds", "seconds, waiting included"}},
                    {}};
  if (s.spent) spent.rows.push_back({s.spent->calls, s.spent->bytes, s.spent->seconds});
  return {"communication", "Communication of this process", {}, {std::move(spent)}};
}

[[nodiscard]] inline sheet_section plan_section(run_sheet const& s) {
  bool const planned =
      s.plan.microbatch || s.plan.group || s.plan.replicas || s.plan.length || s.plan.updates || s.plan.samples;
  sheet_table differences{"differences",
                          planned ? "All of it came so." : "",
                          {{"what", "what differs"}, {"planned", "planned"}, {"real", "real"}, {"because", "because"}},
                          {}};
  for (plan_difference const& each : s.differences())
    differences.rows.push_back({each.what, value_of(each.planned), value_of(each.real), each.because});
  return {"plan",
          "Plan",
          {{"microbatch", "samples of a microbatch, m", known(s.plan.microbatch)},
           {"group", "microbatches of a group, A", known(s.plan.group)},
           {"replicas", "replicas, D", known(s.plan.replicas)},
           {"length", "positions of a sample", known(s.plan.length)},
           {"updates", "updates applied", known(s.plan.updates)},
           {"samples", "samples of the run", known(s.plan.samples)}},
          {std::move(differences)},
          "Nothing was planned."};
}

/// The course of the run. What came before the history began is in the totals of updates, samples and tokens.
[[nodiscard]] inline sheet_section history_section(run_sheet const& s) {
  run_point const& last = s.history.last();
  std::int64_t const applied = s.ledger.applied().value() - last.applied;
  std::int64_t const samples = s.ledger.over_replicas().samples.value() - last.samples;
  std::int64_t const tokens = s.ledger.over_replicas().tokens.value() - last.tokens;
  sheet_table points{"points",
                     "No group was closed.",
                     {{"group", "group"},
                      {"outcome", "outcome"},
                      {"applied", "updates"},
                      {"samples", "samples"},
                      {"tokens", "tokens"},
                      {"weight", "weight"},
                      {"loss", "loss"},
                      {"norm", "norm"},
                      {"clipped_norm", "clipped norm"},
                      {"loss_scale", "loss scale"}},
                     {}};
  for (run_point const& p : s.history.points())
    points.rows.push_back({p.group, std::string(name_of(p.result)), applied + p.applied, samples + p.samples,
                           tokens + p.tokens, p.weight, known(p.loss), finite_or_none(p.norm),
                           s.norm_is_clipped_by_factor ? finite_or_none(p.norm * p.clip_factor) : sheet_value{},
                           p.loss_scale});
  return {
      "history",
      "History",
      {{"groups", "groups observed", s.history.seen()}, {"every", "of which every n-th is kept", s.history.every()}},
      {std::move(points)}};
}

}  // namespace detail

/// All that a run sheet says, in the order in which it is written.
[[nodiscard]] inline std::vector<sheet_section> sections_of(run_sheet const& s) {
  std::vector<sheet_section> all;
  all.push_back(
      {"run", "Run", {{"title", "title", detail::text_or_none(s.title)}, {"accrue", "accrue", s.version}}, {}});
  all.push_back(detail::batch_section(s));
  all.push_back(detail::data_section(s));
  all.push_back(detail::updates_section(s));
  all.push_back(detail::plan_section(s));
  all.push_back(detail::left_out_section(s));
  all.push_back(detail::numbers_section(s));
  all.push_back(detail::recipe_section(s));
  all.push_back(detail::memory_section(s));
  all.push_back(detail::communication_section(s));
  all.push_back(detail::history_section(s));
  return all;
}

}  // namespace accrue
#endif

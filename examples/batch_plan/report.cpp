// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <accrue/plan/plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace batch_plan {
namespace {

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::samples;
using accrue::tokens;
using accrue::updates;
using plan::replicas;

constexpr std::size_t most_rows = 64;
constexpr std::int64_t most_searched = 1'000'000'000'000;  // samples of a replica of which divisors are looked for

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

std::string text_of(plan::refusal reason) {
  auto const [what, why, way_out] = plan::explain(reason);
  constexpr std::string_view prefix = "accrue::plan: ";
  return accrue::joined({what.substr(prefix.size()), "; ", why, "; ", way_out});
}

/// What is known of the batch, once it is.
struct batch {
  samples micro;
  microbatches group;
  replicas across;
  samples all;
};

class reporter {
 public:
  explicit reporter(given const& numbers) : given_(numbers) {}

  report all() {
    across_ = replicas_of_the_run();
    memory_ = memory();
    time_ = time();
    if (said_.complaints.empty()) batch_ = solve();
    if (batch_) {
      say_batch();
      say_memory();
      say_time();
      say_plans();
      say_scaling();
      say_run();
      say_lengths();
      say_advice();
    }
    return std::move(said_);
  }

 private:
  std::int64_t number(in which, std::int64_t otherwise = 0) const { return given_.number(which, otherwise); }
  bool has(in which) const { return given_.has(which); }

  void complain(in which, std::string text) { said_.complaints.push_back({name_of(which), std::move(text)}); }

  /// The value, or nothing and a complaint about the field.
  template <class T>
  std::optional<T> want(plan::planned<T> const& answer, in which) {
    if (answer) return answer.value();
    complain(which, text_of(*answer.reason()));
    return std::nullopt;
  }

  static void say(std::vector<answer>& row, std::string_view name, std::int64_t whole, std::string_view unit = {}) {
    row.push_back({name, whole, unit});
  }
  static void say(std::vector<answer>& row, std::string_view name, double real, std::string_view unit = {}) {
    row.push_back({name, real, unit});
  }
  static void say(std::vector<answer>& row, std::string_view name, std::string_view word) {
    row.push_back({name, word});
  }

  std::vector<answer>& row(std::string_view name, bool is_table) {
    auto found = std::find_if(said_.sections.begin(), said_.sections.end(),
                              [&](section const& each) { return each.name == name; });
    if (found == said_.sections.end()) {
      said_.sections.push_back({name, is_table});
      found = said_.sections.end() - 1;
    }
    if (is_table || found->rows.empty()) found->rows.emplace_back();
    return found->rows.back();
  }
  std::vector<answer>& row_of(std::string_view table) { return row(table, true); }
  std::vector<answer>& only(std::string_view name) { return row(name, false); }

  // ---- ranks -----------------------------------------------------------------------------------------------------

  std::optional<replicas> replicas_of_the_run() {
    bool const split = has(in::tensor) || has(in::pipeline) || has(in::context) || has(in::expert);
    if (!has(in::world)) {
      if (split) complain(in::world, "missing; without it nobody knows what is split");
      if (has(in::replicas)) return replicas{number(in::replicas)};
      return std::nullopt;
    }
    plan::mesh const mesh{plan::ranks{number(in::world)}, plan::ranks{number(in::tensor, 1)},
                          plan::ranks{number(in::pipeline, 1)}, plan::ranks{number(in::context, 1)},
                          plan::ranks{number(in::expert, 1)}};
    auto const found = plan::replicas_of(mesh);
    if (!found) {
      complain(found.reason() == plan::refusal::experts_left_over ? in::expert : in::world, text_of(*found.reason()));
      return std::nullopt;
    }
    if (has(in::replicas) && number(in::replicas) != found.value().value())
      complain(in::replicas, accrue::joined({std::to_string(number(in::replicas)), " replicas, but the world has ",
                                             std::to_string(found.value().value()), "; give one of the two"}));
    auto& out = only("ranks");
    say(out, "replicas", found.value().value());
    say(out, "ranks_of_a_replica", mesh.world.value() / found.value().value());
    say(out, "ranks_of_an_expert", plan::ranks_of_an_expert(mesh).value().value());
    return found.value();
  }

  // ---- memory and time of a microbatch ---------------------------------------------------------------------------

  std::optional<plan::memory_line> memory() {
    std::optional<plan::memory_line> line;
    if (has(in::parameters) && said_.complaints.empty()) {
      plan::model_sizes const model{.elements = number(in::parameters),
                                    .bytes_per_parameter = number(in::parameter_bytes, 4),
                                    .bytes_per_gradient = number(in::gradient_bytes, 4),
                                    .terms = number(in::terms, 1),
                                    .division = static_cast<plan::division>(number(in::division)),
                                    .summation = static_cast<plan::summation>(number(in::summation)),
                                    .state_words = number(in::optimizer_words, 2),
                                    .bytes_per_copy = number(in::copy_bytes),
                                    .activation_bytes = number(in::activation),
                                    .checkpointed_one_in = number(in::checkpoint, 1),
                                    .other_bytes = number(in::other),
                                    .sharded = static_cast<plan::sharding>(number(in::shard)),
                                    .across = across_.value_or(replicas{1})};
      auto const parts = plan::parts_of(model);
      bool const about_terms = parts.reason() == plan::refusal::terms_not_combined;
      if (auto const of = want(parts, about_terms ? in::terms : in::parameters)) {
        auto& out = only("model");
        say(out, "parameters", of->parameters, "bytes");
        say(out, "gradients", of->gradients, "bytes");
        say(out, "buffer", of->buffer, "bytes");
        say(out, "optimizer_state", of->optimizer_state, "bytes");
        say(out, "other", of->other, "bytes");
        say(out, "activations_per_sample", of->activations_per_sample, "bytes");
        line = want(plan::memory_of(model), in::parameters);
      }
    }
    if (auto const& m = given_.all(in::peaks); !m.empty())
      line = want(plan::calibrated(plan::memory_peak{samples{m[0]}, m[1]}, plan::memory_peak{samples{m[2]}, m[3]}),
                  in::peaks);
    if (has(in::memory) && !line && said_.complaints.empty())
      complain(in::memory, "needs to know what a microbatch takes; give parameters, or two peaks");
    return line;
  }

  std::optional<plan::microbatch_time> time() {
    auto const& t = given_.all(in::timings);
    if (t.empty()) return std::nullopt;
    return want(plan::calibrated(plan::timed_microbatch{samples{t[0]}, seconds(t[1])},
                                 plan::timed_microbatch{samples{t[2]}, seconds(t[3])}),
                in::timings);
  }

  // ---- m, A, D ---------------------------------------------------------------------------------------------------

  template <class Count>
  std::optional<Count> solved(plan::planned<Count, plan::missed_target<Count>> const& found) {
    if (found) return found.value();
    plan::missed_target<Count> const missed = *found.reason();
    if (missed.why != plan::refusal::off_target) {
      complain(in::target, text_of(missed.why));
      return std::nullopt;
    }
    // What accrue::error says, as far as it is about the neighbours.
    std::string text = accrue::joined({"no whole number of ", Count::unit_type::name, " gives ",
                                       std::to_string(missed.target.value()), " samples an update"});
    for (auto const& offer : {missed.below, missed.above}) {
      if (!offer) continue;
      auto& out = row_of("neighbours");
      say(out, Count::unit_type::name, offer->count.value());
      say(out, "samples_per_update", offer->effective_batch.value());
      text += accrue::joined(
          {"; ", std::to_string(offer->count.value()), " give ", std::to_string(offer->effective_batch.value())});
    }
    complain(in::target, std::move(text));
    return std::nullopt;
  }

  std::optional<batch> solve() {
    std::optional<samples> micro;
    std::optional<microbatches> group;
    if (has(in::micro)) micro = samples{number(in::micro)};
    if (has(in::accumulate)) group = microbatches{number(in::accumulate)};
    if (!has(in::target)) {
      if (!micro) complain(in::micro, "missing; give the samples of a microbatch, or a target");
      if (!micro) return std::nullopt;
      return product(*micro, group.value_or(microbatches{1}), across_.value_or(replicas{1}));
    }
    samples const target{number(in::target)};
    if (micro && group && across_) {
      auto const found = product(*micro, *group, *across_);
      if (found && found->all != target) {
        complain(in::target, accrue::joined({"m x A x D is ", std::to_string(found->all.value()),
                                             "; leave one of the three out to have it solved for"}));
        return std::nullopt;
      }
      return found;
    }
    if (micro && group) across_ = solved(plan::replicas_for(target, *micro, *group));
    if (!across_ && !said_.complaints.empty()) return std::nullopt;
    replicas const across = across_.value_or(replicas{1});
    if (!micro && !group && memory_ && has(in::memory)) micro = largest_that_fits(target, across);
    if (!micro && !group && said_.complaints.empty())
      complain(in::micro, "missing; give m, A, or the memory that there is");
    if (!said_.complaints.empty()) return std::nullopt;
    if (!group) group = solved(plan::microbatches_for(target, *micro, across));
    if (!group) {
      say_uneven(target, *micro, across);
      return std::nullopt;
    }
    if (!micro) micro = solved(plan::microbatch_size_for(target, *group, across));
    if (!micro) return std::nullopt;
    return product(*micro, *group, across);
  }

  std::optional<batch> product(samples micro, microbatches group, replicas across) {
    auto const all = want(plan::effective_batch(micro, group, across), has(in::micro) ? in::micro : in::target);
    if (!all) return std::nullopt;
    return batch{micro, group, across, *all};
  }

  std::optional<samples> largest_that_fits(samples target, replicas across) {
    auto const largest = want(plan::largest_microbatch(*memory_, number(in::memory)), in::memory);
    if (!largest || !searchable(target, across)) return std::nullopt;
    auto const cut = want(plan::uneven_group(target, *largest, across), in::target);
    if (!cut) return std::nullopt;
    return samples{plan::largest_divisor(target.value() / across.value(), cut->microbatch.value())};
  }

  bool searchable(samples target, replicas across) {
    if (target.value() / across.value() <= most_searched) return true;
    complain(in::target, "more than 10^12 samples of a replica; no list of plans is made of so many");
    return false;
  }

  void say_uneven(samples target, samples micro, replicas across) {
    auto const cut = plan::uneven_group(target, micro, across);
    if (!cut) return;
    auto& out = only("uneven_group");
    say(out, "microbatch", cut.value().microbatch.value(), "samples");
    say(out, "microbatches", cut.value().group.value());
    say(out, "last_microbatch", cut.value().last.value(), "samples");
    say(out, "samples_per_update", target.value());
  }

  void say_batch() {
    auto& out = only("batch");
    say(out, "microbatch", batch_->micro.value(), "samples");
    say(out, "group", batch_->group.value(), "microbatches");
    say(out, "replicas", batch_->across.value());
    say(out, "samples_per_update", batch_->all.value());
    if (has(in::length)) {
      auto const all = want(
          plan::positions_per_update(batch_->micro, plan::length{number(in::length)}, batch_->group, batch_->across),
          in::length);
      if (all) say(out, "positions_per_update", all->value());
    }
    if (batch_->all.value() / batch_->across.value() > most_searched) return;
    if (auto const smaller = plan::smaller_microbatch(batch_->all, batch_->micro, batch_->across)) {
      say(out, "smaller_microbatch", smaller.value().microbatch.value(), "samples");
      say(out, "its_group", smaller.value().group.value(), "microbatches");
    }
  }

  void say_memory() {
    if (!memory_) return;
    auto const bytes = want(memory_->bytes(batch_->micro), in::micro);
    if (!bytes) return;
    auto& out = only("memory");
    say(out, "fixed", memory_->fixed_bytes, "bytes");
    say(out, "per_sample", memory_->bytes_per_sample, "bytes");
    say(out, "of_its_samples", *bytes - memory_->fixed_bytes, "bytes");
    say(out, "of_the_microbatch", *bytes, "bytes");
    if (!has(in::memory)) return;
    say(out, "budget", number(in::memory), "bytes");
    bool const fits = *bytes <= number(in::memory);
    say(out, "fits", std::string_view(fits ? "yes" : "no"));
    if (fits) say(out, "left", number(in::memory) - *bytes, "bytes");
    if (auto const largest = plan::largest_microbatch(*memory_, number(in::memory)))
      say(out, "largest_microbatch", largest.value().value(), "samples");
  }

  void say_time() {
    if (!time_) return;
    auto& out = only("time");
    say(out, "microbatch", time_->seconds(batch_->micro), "s");
    say(out, "group", time_->seconds(batch_->micro, batch_->group), "s");
    say(out, "samples_per_second", samples_per_second(batch_->micro));
    say(out, "overhead", 100.0 * time_->overhead(batch_->micro), "%");
    double const share = static_cast<double>(number(in::overhead, 100'000)) * 1e-6;
    if (auto const pays = want(plan::smallest_that_pays(*time_, share), in::overhead))
      say(out, "smallest_that_pays", pays->value(), "samples");
  }

  [[nodiscard]] double samples_per_second(samples micro) const {
    return time_->samples_per_second(micro) * static_cast<double>(batch_->across.value());
  }

  // ---- what fits -------------------------------------------------------------------------------------------------

  void say_plans() {
    if ((!memory_ && !time_) || batch_->all.value() / batch_->across.value() > most_searched) return;
    plan::memory_line const line = memory_.value_or(plan::memory_line{});
    std::int64_t const budget = has(in::memory) ? number(in::memory) : std::numeric_limits<std::int64_t>::max();
    std::size_t shown = 0;
    auto const found = plan::for_each_plan(batch_->all, batch_->across, line, budget, [&](plan::cut_group const& each) {
      if (shown++ >= most_rows) return;
      auto& out = row_of("plans");
      say(out, "microbatch", each.microbatch.value(), "samples");
      say(out, "group", each.group.value(), "microbatches");
      if (memory_) say(out, "memory", line.bytes(each.microbatch).value(), "bytes");
      if (!time_) return;
      say(out, "seconds_per_group", time_->seconds(each.microbatch, each.group), "s");
      say(out, "samples_per_second", samples_per_second(each.microbatch));
      say(out, "overhead", 100.0 * time_->overhead(each.microbatch), "%");
    });
    if (auto const count = want(found, in::memory)) only("batch").push_back({"plans_that_fit", *count});
  }

  // ---- replicas --------------------------------------------------------------------------------------------------

  void say_scaling() {
    if (!has(in::bandwidth)) return;
    if (!time_ && !has(in::compute)) return complain(in::compute, "missing; give it, or timings of microbatches");
    if (!has(in::buffer) && !has(in::parameters))
      return complain(in::buffer, "missing; give it, or the parameters of the model");
    double const compute =
        has(in::compute) ? seconds(number(in::compute)) : time_->seconds(batch_->micro, batch_->group);
    double const buffer =
        has(in::buffer) ? static_cast<double>(number(in::buffer)) : 4.0 * static_cast<double>(number(in::parameters));
    plan::update_costs const costs{compute, buffer, static_cast<double>(number(in::bandwidth)),
                                   seconds(number(in::latency))};
    std::int64_t const last = batch_->across.value();
    std::int64_t const own_samples = batch_->all.value() / last;
    auto const own = static_cast<double>(own_samples);
    for (std::int64_t d = 1;; d = d > last / 2 ? last : 2 * d) {
      auto const found = want(plan::time_over_replicas(costs, replicas{d}), in::bandwidth);
      if (!found) return;
      auto& out = row_of("scaling");
      say(out, "replicas", d);
      say(out, "communication", found->communication_seconds, "s");
      say(out, "update", found->seconds, "s");
      say(out, "efficiency", 100.0 * found->efficiency, "%");
      say(out, "samples_per_second", own * static_cast<double>(d) / found->seconds);
      if (d == last) return;
    }
  }

  // ---- passes over the data --------------------------------------------------------------------------------------

  void say_run() {
    if (!has(in::in_pass)) return;
    plan::data_pass const pass{microbatches{number(in::in_pass)}, batch_->group};
    plan::passes const run{number(in::passes, 1)};
    constexpr std::array<std::string_view, 5> names{"keep", "drop", "carry", "pad", "refuse"};
    for (std::size_t i = 0; i < names.size(); ++i) {
      auto const last = static_cast<plan::last_group>(i);
      auto const found = plan::updates_over(run, pass, last);
      if (found == plan::refusal::partial_group) continue;
      auto const counts = want(found, in::in_pass);
      if (!counts) return;
      auto const seen = counts->in_all == microbatches{}
                            ? std::optional(samples{})
                            : want(plan::effective_batch(batch_->micro, counts->in_all, batch_->across), in::in_pass);
      if (!seen) return;
      auto& out = row_of("run");
      say(out, "last_group", names[i]);
      say(out, "updates", counts->total.value());
      say(out, "in_last", counts->in_last.value(), "microbatches");
      say(out, "dropped", counts->dropped.value(), "microbatches");
      say(out, "carried", counts->carried.value(), "microbatches");
      say(out, "samples", seen->value());
      if (has(in::length)) {
        auto const all = want(plan::exact_product<accrue::positions>({seen->value(), number(in::length)}), in::length);
        if (!all) return;
        say(out, "positions", all->value());
      }
      if (!has(in::done)) continue;
      auto const point = plan::resume_after(updates{number(in::done)}, pass, last);
      if (!point && last == plan::last_group::keep) return complain(in::done, text_of(*point.reason()));
      if (!point) continue;
      say(out, "resume_pass", point.value().finished.value());
      say(out, "resume_after", point.value().skip.value(), "microbatches");
    }
  }

  // ---- lengths ---------------------------------------------------------------------------------------------------

  void say_lengths() {
    auto const& given_lengths = given_.all(in::lengths);
    if (given_lengths.empty()) return;
    std::array<plan::length_bar, 64> bars{};
    for (std::size_t i = 0; 2 * i < given_lengths.size(); ++i)
      bars[i] = {tokens{given_lengths[2 * i]}, samples{given_lengths[2 * i + 1]}};
    auto const totals = want(plan::totals_of(bars), in::lengths);
    auto const spread = want(plan::tokens_per_update(bars, batch_->all), in::lengths);
    if (!totals || !spread) return;
    auto const say_spread = [&](std::string_view name, plan::length_totals const& of, plan::token_spread const& update,
                                std::int64_t row) {
      double const capacity = static_cast<double>(of.count.value()) * static_cast<double>(row);
      auto& out = row_of("lengths");
      say(out, "layout", name);
      say(out, "rows", of.count.value());
      say(out, "positions_of_a_row", row);
      say(out, "filled", capacity > 0.0 ? 100.0 * static_cast<double>(of.all.value()) / capacity : 0.0, "%");
      say(out, "tokens_per_update", update.expected);
      say(out, "standard_deviation", update.standard_deviation);
    };
    std::int64_t const row = number(in::length, totals->longest.value());
    if (row < totals->longest.value()) return complain(in::length, text_of(plan::refusal::longer_than_row));
    say_spread("padded", *totals, *spread, row);
    if (row == 0) return;
    auto const packed = want(plan::packed_rows(bars, plan::length{row}), in::lengths);
    if (!packed) return;
    say_spread("packed", plan::totals_of(*packed).value(), plan::tokens_per_update(*packed, batch_->all).value(), row);
  }

  // ---- advice ----------------------------------------------------------------------------------------------------

  void say_advice() {
    if (has(in::base_batch)) {
      auto& out = only("learning_rate");
      samples const from{number(in::base_batch)};
      say(out, "linear", plan::learning_rate_factor(from, batch_->all, plan::rate_rule::linear).value());
      say(out, "square_root", plan::learning_rate_factor(from, batch_->all, plan::rate_rule::square_root).value());
    }
    if (has(in::nominal)) {
      auto const one = want(plan::exact_product<samples>({batch_->micro.value(), batch_->across.value()}), in::nominal);
      auto const found =
          one ? want(plan::group_for_nominal(samples{number(in::nominal)}, *one), in::nominal) : std::nullopt;
      if (found) {
        auto& out = only("nominal_batch");
        say(out, "group", found->group.value(), "microbatches");
        say(out, "samples_per_update", found->effective_batch.value());
        say(out, "weight_decay_factor", found->weight_decay_factor);
      }
    }
    if (has(in::new_replicas)) say_elastic();
    if (has(in::ramp)) {
      plan::linear_ramp<microbatches, updates> const ramp{microbatches{1}, batch_->group, updates{number(in::ramp)}};
      for (std::int64_t part = 0; part <= 4; ++part) {
        std::int64_t const whole = number(in::ramp);
        std::int64_t const count = whole / 4 * part + whole % 4 * part / 4;
        auto const found = want(ramp.at(updates{count}), in::ramp);
        if (!found) return;
        auto& out = row_of("ramp");
        say(out, "updates", count);
        say(out, "group", found->value(), "microbatches");
      }
    }
  }

  void say_elastic() {
    auto const found = plan::group_for_replicas(batch_->all, batch_->micro, replicas{number(in::new_replicas)},
                                                {number(in::band), 1'000'000});
    if (!found) {
      plan::missed_target<microbatches> const missed = *found.reason();
      if (missed.why != plan::refusal::off_target) return complain(in::new_replicas, text_of(missed.why));
      std::string text = "no group of this microbatch gives the batch, nor one within the band";
      for (auto const& offer : {missed.below, missed.above})
        if (offer)
          text += accrue::joined({"; a group of ", std::to_string(offer->count.value()), " gives ",
                                  std::to_string(offer->effective_batch.value())});
      return complain(in::new_replicas, std::move(text));
    }
    auto& out = only("elastic");
    say(out, "group", found.value().count.value(), "microbatches");
    say(out, "samples_per_update", found.value().effective_batch.value());
  }

  given const& given_;
  report said_;
  std::optional<replicas> across_;
  std::optional<plan::memory_line> memory_;
  std::optional<plan::microbatch_time> time_;
  std::optional<batch> batch_;
};

}  // namespace

report answer_all(given const& numbers) { return reporter(numbers).all(); }

}  // namespace batch_plan

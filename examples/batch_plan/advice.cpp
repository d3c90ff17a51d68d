// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topics.hpp"

#include <optional>
#include <string>
#include <utility>

namespace batch_plan {
namespace {

void say_elastic(report_writer& out, batch const& of) {
  auto const found = plan::group_for_replicas(of.all, of.micro, replicas{out.number(in::new_replicas)},
                                              {out.number(in::band), 1'000'000});
  if (!found) {
    plan::missed_target<microbatches> const missed = *found.reason();
    if (missed.why != plan::refusal::off_target) return out.complain(in::new_replicas, text_of(missed.why));
    std::string text = "no group of this microbatch gives the batch, nor one within the band";
    for (auto const& offer : {missed.below, missed.above})
      if (offer)
        text += accrue::joined({"; a group of ", std::to_string(offer->count.value()), " gives ",
                                std::to_string(offer->effective_batch.value())});
    return out.complain(in::new_replicas, std::move(text));
  }
  auto& to = out.only("elastic");
  say(to, "group", found.value().count.value(), "microbatches");
  say(to, "samples_per_update", found.value().effective_batch.value());
}

}  // namespace

void say_advice(report_writer& out, batch const& of) {
  if (out.has(in::base_batch)) {
    auto& to = out.only("learning_rate");
    samples const from{out.number(in::base_batch)};
    say(to, "linear", plan::learning_rate_factor(from, of.all, plan::rate_rule::linear).value());
    say(to, "square_root", plan::learning_rate_factor(from, of.all, plan::rate_rule::square_root).value());
  }
  if (out.has(in::nominal)) {
    auto const one = out.want(plan::exact_product<samples>({of.micro.value(), of.across.value()}), in::nominal);
    auto const found =
        one ? out.want(plan::group_for_nominal(samples{out.number(in::nominal)}, *one), in::nominal) : std::nullopt;
    if (found) {
      auto& to = out.only("nominal_batch");
      say(to, "group", found->group.value(), "microbatches");
      say(to, "samples_per_update", found->effective_batch.value());
      say(to, "weight_decay_factor", found->weight_decay_factor);
    }
  }
  if (out.has(in::new_replicas)) return say_elastic(out, of);
  if (out.has(in::band)) out.complain(in::band, "of no other batch; give new_replicas, or leave this out");
}

}  // namespace batch_plan

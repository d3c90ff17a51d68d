// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topics.hpp"

#include <optional>
#include <string_view>

namespace batch_plan {

std::optional<plan::memory_line> memory_of_a_microbatch(report_writer& out, replicas across) {
  std::optional<plan::memory_line> line;
  if (out.has(in::parameters) && out.is_flawless()) {
    plan::model_sizes const model{.elements = out.number(in::parameters),
                                  .bytes_per_parameter = out.number(in::parameter_bytes, 4),
                                  .bytes_per_gradient = out.number(in::gradient_bytes, 4),
                                  .terms = out.number(in::terms, 1),
                                  .division = static_cast<plan::division>(out.number(in::division)),
                                  .summation = static_cast<plan::summation>(out.number(in::summation)),
                                  .state_words = out.number(in::optimizer_words, 2),
                                  .bytes_per_copy = out.number(in::copy_bytes),
                                  .activation_bytes = out.number(in::activation),
                                  .checkpointed_one_in = out.number(in::checkpoint, 1),
                                  .other_bytes = out.number(in::other),
                                  .sharded = static_cast<plan::sharding>(out.number(in::shard)),
                                  .across = across};
    auto const parts = plan::parts_of(model);
    bool const about_terms = parts.reason() == plan::refusal::terms_not_combined;
    if (auto const of = out.want(parts, about_terms ? in::terms : in::parameters)) {
      auto& to = out.only("model");
      say(to, "parameters", of->parameters, "bytes");
      say(to, "gradients", of->gradients, "bytes");
      say(to, "buffer", of->buffer, "bytes");
      say(to, "optimizer_state", of->optimizer_state, "bytes");
      say(to, "other", of->other, "bytes");
      say(to, "activations_per_sample", of->activations_per_sample, "bytes");
      line = out.want(plan::memory_of(model), in::parameters);
    }
  }
  if (auto const& m = out.numbers(in::peaks); !m.empty())
    line = out.want(plan::calibrated(plan::memory_peak{samples{m[0]}, m[1]}, plan::memory_peak{samples{m[2]}, m[3]}),
                    in::peaks);
  if (out.has(in::memory) && !line && out.is_flawless())
    out.complain(in::memory, "needs to know what a microbatch takes; give parameters, or two peaks");
  return line;
}

void say_memory(report_writer& out, setting const& known, batch const& of) {
  if (!known.memory) return;
  auto const bytes = out.want(known.memory->bytes(of.micro), in::micro);
  if (!bytes) return;
  auto& to = out.only("memory");
  say(to, "fixed", known.memory->fixed_bytes, "bytes");
  say(to, "per_sample", known.memory->bytes_per_sample, "bytes");
  say(to, "of_its_samples", *bytes - known.memory->fixed_bytes, "bytes");
  say(to, "of_the_microbatch", *bytes, "bytes");
  if (!out.has(in::memory)) return;
  say(to, "budget", out.number(in::memory), "bytes");
  bool const fits = *bytes <= out.number(in::memory);
  say(to, "fits", std::string_view(fits ? "yes" : "no"));
  if (fits) say(to, "left", out.number(in::memory) - *bytes, "bytes");
  if (auto const largest = plan::largest_microbatch(*known.memory, out.number(in::memory)))
    say(to, "largest_microbatch", largest.value().value(), "samples");
}

}  // namespace batch_plan

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topics.hpp"

#include <cstdint>

namespace batch_plan {

void say_scaling(report_writer& out, setting const& known, batch const& of) {
  if (!out.has(in::bandwidth)) return;
  if (!known.time && !out.has(in::compute))
    return out.complain(in::compute, "missing; give it, or timings of microbatches");
  if (!out.has(in::buffer) && !out.has(in::parameters))
    return out.complain(in::buffer, "missing; give it, or the parameters of the model");
  double const compute =
      out.has(in::compute) ? seconds(out.number(in::compute)) : known.time->seconds(of.micro, of.group);
  double const buffer = out.has(in::buffer) ? static_cast<double>(out.number(in::buffer))
                                            : 4.0 * static_cast<double>(out.number(in::parameters));
  plan::update_costs const costs{compute, buffer, static_cast<double>(out.number(in::bandwidth)),
                                 seconds(out.number(in::latency))};
  std::int64_t const last = of.across.value();
  std::int64_t const own_samples = of.all.value() / last;
  auto const own = static_cast<double>(own_samples);
  for (std::int64_t d = 1;; d = d > last / 2 ? last : 2 * d) {
    auto const found = out.want(plan::time_over_replicas(costs, replicas{d}), in::bandwidth);
    if (!found) return;
    auto& to = out.row_of("scaling");
    say(to, "replicas", d);
    say(to, "communication", found->communication_seconds, "s");
    say(to, "update", found->seconds, "s");
    say(to, "efficiency", 100.0 * found->efficiency, "%");
    say(to, "samples_per_second", own * static_cast<double>(d) / found->seconds);
    if (d == last) return;
  }
}

}  // namespace batch_plan

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topics.hpp"

#include <optional>

namespace batch_plan {

std::optional<plan::microbatch_time> time_of_a_microbatch(report_writer& out) {
  auto const& t = out.numbers(in::timings);
  if (t.empty()) return std::nullopt;
  return out.want(plan::calibrated(plan::timed_microbatch{samples{t[0]}, seconds(t[1])},
                                   plan::timed_microbatch{samples{t[2]}, seconds(t[3])}),
                  in::timings);
}

void say_time(report_writer& out, setting const& known, batch const& of) {
  if (!known.time) return;
  auto& to = out.only("time");
  say(to, "microbatch", known.time->seconds(of.micro), "s");
  say(to, "group", known.time->seconds(of.micro, of.group), "s");
  say(to, "samples_per_second", samples_per_second(*known.time, of.micro, of.across));
  say(to, "overhead", 100.0 * known.time->overhead(of.micro), "%");
  double const share = static_cast<double>(out.number(in::overhead, 100'000)) * 1e-6;
  if (auto const pays = out.want(plan::smallest_that_pays(*known.time, share), in::overhead))
    say(to, "smallest_that_pays", pays->value(), "samples");
}

}  // namespace batch_plan

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topics.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace batch_plan {

void say_plans(report_writer& out, setting const& known, batch const& of) {
  if ((!known.memory && !known.time) || of.all.value() / of.across.value() > most_searched) return;
  plan::memory_line const line = known.memory.value_or(plan::memory_line{});
  std::int64_t const budget = out.has(in::memory) ? out.number(in::memory) : std::numeric_limits<std::int64_t>::max();
  std::size_t shown = 0;
  auto const found = plan::for_each_plan(of.all, of.across, line, budget, [&](plan::cut_group const& each) {
    if (shown++ >= most_rows) return;
    auto& to = out.row_of("plans");
    say(to, "microbatch", each.microbatch.value(), "samples");
    say(to, "group", each.group.value(), "microbatches");
    if (known.memory) say(to, "memory", line.bytes(each.microbatch).value(), "bytes");
    if (!known.time) return;
    say(to, "seconds_per_group", known.time->seconds(each.microbatch, each.group), "s");
    say(to, "samples_per_second", samples_per_second(*known.time, each.microbatch, of.across));
    say(to, "overhead", 100.0 * known.time->overhead(each.microbatch), "%");
  });
  if (auto const count = out.want(found, in::memory))
    out.only("batch").push_back({out.has(in::memory) ? "plans_that_fit" : "plans", *count});
}

}  // namespace batch_plan

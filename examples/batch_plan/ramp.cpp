// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topics.hpp"

#include <cstdint>

namespace batch_plan {

void say_ramp(report_writer& out, batch const& of) {
  if (!out.has(in::ramp)) return;
  plan::linear_ramp<microbatches, updates> const ramp{microbatches{1}, of.group, updates{out.number(in::ramp)}};
  for (std::int64_t part = 0; part <= 4; ++part) {
    std::int64_t const whole = out.number(in::ramp);
    std::int64_t const count = whole / 4 * part + whole % 4 * part / 4;
    auto const found = out.want(ramp.at(updates{count}), in::ramp);
    if (!found) return;
    auto& to = out.row_of("ramp");
    say(to, "updates", count);
    say(to, "group", found->value(), "microbatches");
  }
}

}  // namespace batch_plan

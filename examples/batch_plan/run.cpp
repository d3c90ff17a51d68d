// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topics.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace batch_plan {

void say_run(report_writer& out, batch const& of) {
  for (in alone : {in::passes, in::done})
    if (out.has(alone) && !out.has(in::in_pass))
      return out.complain(alone, "of no data; give in_pass, or leave this out");
  if (!out.has(in::in_pass)) return;
  for (in ramp : {in::ramp, in::ramp_stages})
    if (out.has(ramp))
      return out.complain(ramp, "with in_pass; updates of a run are those of one group: leave out one of the two");
  plan::data_pass const pass{microbatches{out.number(in::in_pass)}, of.group};
  plan::passes const run{out.number(in::passes, 1)};
  constexpr std::array<std::string_view, 5> names{"keep", "drop", "carry", "pad", "refuse"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto const last = static_cast<plan::last_group>(i);
    auto const found = plan::updates_over(run, pass, last);
    if (found == plan::refusal::partial_group) continue;
    auto const counts = out.want(found, in::in_pass);
    if (!counts) return;
    auto const seen = counts->in_all == microbatches{}
                          ? std::optional(samples{})
                          : out.want(plan::effective_batch(of.micro, counts->in_all, of.across), in::in_pass);
    if (!seen) return;
    auto& to = out.row_of("run");
    say(to, "last_group", names[i]);
    say(to, "updates", counts->total.value());
    say(to, "in_last", counts->in_last.value(), "microbatches");
    say(to, "dropped", counts->dropped.value(), "microbatches");
    say(to, "carried", counts->carried.value(), "microbatches");
    say(to, "samples", seen->value());
    if (out.has(in::length)) {
      auto const all =
          out.want(plan::exact_product<accrue::positions>({seen->value(), out.number(in::length)}), in::length);
      if (!all) return;
      say(to, "positions", all->value());
    }
    if (!out.has(in::done)) continue;
    if (updates{out.number(in::done)} > counts->total) {
      if (last == plan::last_group::keep)
        return out.complain(in::done, accrue::joined({"the run ends after ", std::to_string(counts->total.value()),
                                                      " updates; give more passes"}));
      continue;
    }
    auto const point = plan::resume_after(updates{out.number(in::done)}, pass, last);
    if (!point && last == plan::last_group::keep) return out.complain(in::done, text_of(*point.reason()));
    if (!point) continue;
    say(to, "resume_pass", point.value().finished.value());
    say(to, "resume_after", point.value().skip.value(), "microbatches");
  }
}

}  // namespace batch_plan

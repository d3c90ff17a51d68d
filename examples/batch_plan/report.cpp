// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include "topics.hpp"

namespace batch_plan {

report answer_all(given const& numbers) {
  report_writer out(numbers);
  setting known;
  known.across = replicas_of_the_run(out);
  known.memory = memory_of_a_microbatch(out, known.across.value_or(replicas{1}));
  known.time = time_of_a_microbatch(out);
  if (!out.is_flawless()) return out.take();
  if (auto const found = solve(out, known)) {
    say_batch(out, *found);
    say_memory(out, known, *found);
    say_time(out, known, *found);
    say_plans(out, known, *found);
    say_scaling(out, known, *found);
    say_run(out, *found);
    say_lengths(out, *found);
    say_advice(out, *found);
    say_ramp(out, *found);
  }
  return out.take();
}

}  // namespace batch_plan

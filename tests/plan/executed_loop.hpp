// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_PLAN_EXECUTED_LOOP_HPP
#define ACCRUE_TESTS_PLAN_EXECUTED_LOOP_HPP

#include <accrue/plan/resume_after.hpp>
#include <accrue/plan/updates_per_pass.hpp>

#include <vector>

/// What a plan is held against: a loop that counts one microbatch after the other and knows no division.
struct executed_loop {
  accrue::plan::run_updates counts;
  std::vector<accrue::plan::resume_point> starts;  ///< of each update: where its first microbatch was read

  executed_loop(accrue::plan::passes run, accrue::plan::data_pass pass, accrue::plan::last_group last) {
    using accrue::microbatches;
    using accrue::plan::last_group;
    microbatches const one{1};
    microbatches held{};
    accrue::plan::resume_point start;

    auto const update = [&] {
      counts.total += accrue::updates{1};
      counts.in_last = held;
      counts.in_all += held;
      starts.push_back(start);
      held = microbatches{};
    };
    for (accrue::plan::passes now{}; now < run; now += accrue::plan::passes{1}) {
      for (microbatches read{}; read < pass.in_pass; read += one) {
        if (held == microbatches{}) start = {now, read};
        held += one;
        if (held == pass.per_group) update();
      }
      if (held == microbatches{} || last == last_group::carry) continue;
      if (last == last_group::drop) {
        counts.dropped += held;
        held = microbatches{};
      } else {
        update();
      }
    }
    counts.carried = held;
  }
};

#endif

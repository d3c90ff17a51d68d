// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/plan.hpp>

#include <doctest/doctest.h>

#include <ostream>

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::samples;
using accrue::updates;

namespace {

// [snippet plan]
constexpr auto data_parallel = plan::replicas_of({.world = plan::ranks{64}, .tensor = plan::ranks{8}}).value();
constexpr auto group = plan::microbatches_for(samples{1024}, samples{4}, data_parallel).value();
constexpr plan::data_pass pass{.in_pass = microbatches{1000}, .per_group = group};
constexpr auto run = plan::updates_over(plan::passes{3}, pass, plan::last_group::drop).value();

static_assert(data_parallel == plan::replicas{8});
static_assert(group == microbatches{32});
static_assert(run.total == updates{93});
static_assert(run.dropped == microbatches{24});
// [/snippet plan]

}  // namespace

TEST_CASE("plan: from a world size to the updates of a run") {
  static_assert(plan::effective_batch(samples{4}, group, data_parallel) == samples{1024});
  static_assert(plan::resume_after(updates{32}, pass, plan::last_group::drop) ==
                plan::resume_point{plan::passes{1}, microbatches{32}});
}

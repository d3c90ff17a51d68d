// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_UPDATES_PER_PASS_HPP
#define ACCRUE_PLAN_UPDATES_PER_PASS_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/exact_product.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/units.hpp>

#include <cstdint>

namespace accrue::plan {

/// What becomes of a group that the end of a pass leaves short.
enum class last_group {
  keep,    ///< one more update, of what is there
  drop,    ///< no update; its microbatches are dropped
  carry,   ///< the next pass goes on filling it
  pad,     ///< one more update, as if the group were full
  refuse,  ///< the plan is refused
};

/// One pass over the data, as one replica sees it.
struct data_pass {
  microbatches in_pass{};
  microbatches per_group{};

  friend bool operator==(data_pass const&, data_pass const&) = default;
};

/// What becomes of every microbatch of a run.
struct run_updates {
  updates total{};         ///< over all passes
  microbatches in_last{};  ///< in the last of these updates; 0 when there is none
  microbatches in_all{};  ///< in all of them: what `effective_batch` makes samples of, `positions_per_update` positions
  microbatches dropped{};  ///< in no update, over all passes
  microbatches carried{};  ///< in the group that the run leaves open

  friend bool operator==(run_updates const&, run_updates const&) = default;
};

/// The updates of several passes over the data, under a last-group policy.
///
/// Guarantee: exact, and what an executed loop does. Replicas run side by side and do not multiply updates.
/// Failure: refuses an `empty_group`, a `partial_group` under `last_group::refuse`, and what is `too_large`.
[[nodiscard]] constexpr planned<run_updates> updates_over(passes run, data_pass pass, last_group last) noexcept {
  if (pass.per_group == microbatches{}) return refusal::empty_group;
  if (last == last_group::carry) {  // groups run across passes: one long pass
    auto const all = exact_product<microbatches>({run.value(), pass.in_pass.value()});
    if (!all) return *all.reason();
    pass.in_pass = all.value();
    run = passes{1};
  }

  std::int64_t const full = pass.in_pass.value() / pass.per_group.value();
  microbatches const rest{pass.in_pass.value() % pass.per_group.value()};
  if (last == last_group::refuse && rest != microbatches{}) return refusal::partial_group;
  bool const updates_rest = (last == last_group::keep || last == last_group::pad) && rest != microbatches{};

  auto const total = exact_product<updates>({run.value(), full + (updates_rest ? 1 : 0)});
  if (!total) return *total.reason();
  auto const in_all =
      exact_product<microbatches>({run.value(), full * pass.per_group.value() + (updates_rest ? rest.value() : 0)});
  if (!in_all) return *in_all.reason();
  run_updates result{.total = total.value(), .in_all = in_all.value()};
  if (result.total != updates{}) result.in_last = updates_rest ? rest : pass.per_group;
  if (last == last_group::carry) result.carried = rest;
  if (last == last_group::drop) {
    auto const dropped = exact_product<microbatches>({run.value(), rest.value()});
    if (!dropped) return *dropped.reason();
    result.dropped = dropped.value();
  }
  return result;
}

/// The updates of one pass over the data.
///
/// Guarantee: as `updates_over` one pass. Under `last_group::carry` a later pass may give one more: plan the whole run.
[[nodiscard]] constexpr planned<run_updates> updates_per_pass(data_pass pass, last_group last) noexcept {
  return updates_over(passes{1}, pass, last);
}

}  // namespace accrue::plan
#endif

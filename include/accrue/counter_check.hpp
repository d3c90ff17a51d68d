// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_COUNTER_CHECK_HPP
#define ACCRUE_COUNTER_CHECK_HPP

#include <accrue/doctor/report.hpp>
#include <accrue/ledger/ledger.hpp>
#include <accrue/plan/updates_per_pass.hpp>

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

namespace accrue::doctor {

/// What a run was meant to be, as the plan takes it.
struct planned_run {
  plan::passes run{1};
  plan::data_pass pass{};
  plan::last_group last = plan::last_group::keep;
};

/// Compares the totals of a run, and the groups that its ledger still has records of, with the plan.
///
/// For one replica. Order: after the last `end_of_data()`, of a run that began with this ledger. Guarantee: exact.
/// An update counts as planned whether it was applied, skipped, vetoed or left empty by rejections; a norm that is not
/// finite is reported where the group was applied all the same.
/// Failure: `accrue::error` for a run that the plan refuses. Cost: none on the device, but `ledger()` itself fences.
/// Example: `accrue::doctor::check_counters(group.ledger(), {.run = passes{2}, .pass = {microbatches{8},
/// microbatches{3}}})`
[[nodiscard]] inline report check_counters(ledger const& book, planned_run const& meant) {
  plan::run_updates const planned = plan::updates_over(meant.run, meant.pass, meant.last).value();
  report found;
  auto const expect = [&](std::string_view what, std::int64_t seen, std::int64_t expected) {
    if (seen == expected) return;
    std::ostringstream saw;
    saw << seen << ' ' << what << ", planned are " << expected;
    found.add({diagnosis::counters_differ, saw.str()});
  };
  expect("microbatches", book.microbatches().value(), meant.run.value() * meant.pass.in_pass.value());
  expect("updates attempted", book.attempted().value() + book.empty_groups(), planned.total.value());
  expect("microbatches dropped", book.dropped_microbatches().value(), planned.dropped.value());

  std::int64_t const full = meant.pass.in_pass.value() / meant.pass.per_group.value();
  std::int64_t const rest = meant.pass.in_pass.value() % meant.pass.per_group.value();
  std::int64_t const groups = full + (rest > 0 ? 1 : 0);  // of a pass
  bool const carries = meant.last == plan::last_group::carry;
  for (record const& each : book.records()) {
    bool const is_rest = !carries && groups > 0 && (each.number - 1) % groups == full;
    std::int64_t const held = each.counts.microbatches.value() + each.rejected.microbatches.value();
    std::int64_t const expected = is_rest ? rest : meant.pass.per_group.value();
    std::ostringstream saw;
    if (held != expected && !found.has(diagnosis::boundary_differs)) {
      saw << "group " << each.number << " holds " << held << " microbatches, planned are " << expected;
      found.add({diagnosis::boundary_differs, saw.str()});
    } else if (each.result == outcome::applied && !is_finite(each.norm) && !found.has(diagnosis::not_finite)) {
      saw << "group " << each.number << " was applied with norm " << each.norm;
      found.add({diagnosis::not_finite, saw.str()});
    }
  }
  return found;
}

}  // namespace accrue::doctor
#endif

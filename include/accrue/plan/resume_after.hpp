// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_RESUME_AFTER_HPP
#define ACCRUE_PLAN_RESUME_AFTER_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/exact_product.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/units.hpp>
#include <accrue/plan/updates_per_pass.hpp>

#include <cstdint>

namespace accrue::plan {

/// Where in the data a run goes on.
struct resume_point {
  passes finished{};    ///< passes that are done; the number of the pass to go on in, from 0
  microbatches skip{};  ///< microbatches of that pass that have been seen, on each replica

  friend bool operator==(resume_point const&, resume_point const&) = default;
};

/// Where the data goes on after so many updates from the start of a run, with no group open.
///
/// `done` counts closed groups, updates that were skipped included: those used up their microbatches too. Groups that
/// the end of a pass dropped are not among them.
/// Guarantee: exact. When a pass ends with the last of these updates, the point is the start of the next pass.
/// Failure: refuses as `updates_per_pass` does, and updates that are `never_reached` because no pass gives any.
[[nodiscard]] constexpr planned<resume_point> resume_after(updates done, data_pass pass, last_group last) noexcept {
  auto const one_pass = updates_per_pass(pass, last);
  if (!one_pass) return *one_pass.reason();
  if (done == updates{}) return resume_point{};

  std::int64_t const group = pass.per_group.value();
  if (last == last_group::carry) {  // groups run across passes: count microbatches
    if (pass.in_pass == microbatches{}) return refusal::never_reached;
    auto const seen = exact_product<microbatches>({done.value(), group});
    if (!seen) return *seen.reason();
    std::int64_t const all = seen.value().value();
    return resume_point{passes{all / pass.in_pass.value()}, microbatches{all % pass.in_pass.value()}};
  }

  std::int64_t const per_pass = one_pass.value().total.value();
  if (per_pass == 0) return refusal::never_reached;
  return resume_point{passes{done.value() / per_pass}, microbatches{done.value() % per_pass * group}};
}

}  // namespace accrue::plan
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_SUPPORT_RUN_SHEET_HPP
#define ACCRUE_EXAMPLES_SUPPORT_RUN_SHEET_HPP

#include <accrue/core/replica_transport.hpp>
#include <accrue/doctor/memory_watch.hpp>
#include <accrue/make_run_sheet.hpp>

#include <type_traits>

namespace examples {

/// The run sheet of an accumulator, with the memory of all processes, if somebody watched it. All of them call it.
template <class Accumulator>
accrue::run_sheet run_sheet_of(Accumulator& group, accrue::run_history const& history, accrue::run_plan const& plan,
                               accrue::memory_watch const* memory) {
  accrue::run_sheet sheet = make_run_sheet(group, history);
  sheet.plan = plan;
  auto const& replicas = group.policies().replicas;
  if constexpr (accrue::replica_transport<std::remove_cvref_t<decltype(replicas)>>) {
    if (memory != nullptr) sheet.memory = report_of_members(replicas, *memory);
  } else {
    if (memory != nullptr) sheet.memory = memory->report();
  }
  return sheet;
}

}  // namespace examples
#endif

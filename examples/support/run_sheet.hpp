// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_SUPPORT_RUN_SHEET_HPP
#define ACCRUE_EXAMPLES_SUPPORT_RUN_SHEET_HPP

#include <accrue/make_run_sheet.hpp>

#include "memory_use.hpp"

namespace examples {

/// The run sheet of an accumulator, with the memory that was watched.
template <class Accumulator>
accrue::run_sheet run_sheet_of(Accumulator& group, accrue::run_history const& history, accrue::run_plan const& plan) {
  accrue::run_sheet sheet = make_run_sheet(group, history);
  sheet.plan = plan;
  sheet.memory = {{"process", {}, peak_resident_bytes(), {}},
                  {"Kokkos views", 0, view_memory::peak_bytes(), view_memory::bytes()}};
  return sheet;
}

}  // namespace examples
#endif

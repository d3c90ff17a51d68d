// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_SUPPORT_RUN_SHEET_HPP
#define ACCRUE_EXAMPLES_SUPPORT_RUN_SHEET_HPP

#include <accrue/accrue.hpp>

#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>

#include "format.hpp"
#include "memory_use.hpp"

namespace examples {

/// What a reader of the results needs in order to repeat the run.
struct run_sheet {
  int examples_per_microbatch;     // m
  accrue::microbatches per_group;  // A
  int replicas;                    // D
  std::string normalization, last_group, recipe;
  accrue::ledger ledger;
};

template <class Accumulator>
run_sheet make_run_sheet(Accumulator& group, int examples_per_microbatch) {
  auto const text = [](auto const& value) {
    std::ostringstream out;
    out << value;
    return out.str();
  };
  auto const& recipe = group.policies();
  return {examples_per_microbatch,
          recipe.boundary.microbatches(),
          1,
          text(recipe.normalization),
          text(recipe.last_group),
          text(recipe),
          group.ledger()};
}

inline std::ostream& operator<<(std::ostream& out, run_sheet const& sheet) {
  auto const& l = sheet.ledger;
  auto const row = [&](char const* name, auto const& value) {
    out << "  " << std::left << std::setw(30) << name << value << '\n';
  };
  out << "Run sheet\n";
  row("examples per microbatch, m", sheet.examples_per_microbatch);
  row("microbatches per group, A", sheet.per_group.value());
  row("replicas, D", sheet.replicas);
  row("effective batch, m * A * D", sheet.examples_per_microbatch * sheet.per_group.value() * sheet.replicas);
  row("examples", l.samples().value());
  if (l.positions().value() > 0) {
    row("positions, padding included", l.positions().value());
    row("supervised tokens", l.tokens().value());
    row("ignored tokens", l.ignored_tokens().value());
  }
  row("precision", "float, sums in float, norms in double");
  row("normalization", sheet.normalization);
  row("last group", sheet.last_group);
  row("updates attempted", l.attempted().value());
  row("updates applied", l.applied().value());
  row("updates skipped", l.skipped().value());
  row("examples dropped", l.dropped().samples.value());
  row("peak memory, process", fixed(peak_resident_megabytes(), 0) + " MB");
  row("peak memory, Kokkos views", fixed(view_memory::peak_megabytes(), 0) + " MB");
  row("recipe, as it ended", sheet.recipe);
  return out;
}

}  // namespace examples
#endif

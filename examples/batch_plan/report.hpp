// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_BATCH_PLAN_REPORT_HPP
#define ACCRUE_EXAMPLES_BATCH_PLAN_REPORT_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "given.hpp"

namespace batch_plan {

/// One answer: a whole number, a real one, or a word, with its unit.
struct answer {
  std::string_view name;
  std::variant<std::int64_t, double, std::string_view> value;
  std::string_view unit = {};
};

/// Answers that belong together: one row of them, or the rows of a table.
struct section {
  std::string_view name;
  bool is_table = false;
  std::vector<std::vector<answer>> rows = {};
};

/// All that can be said about a plan.
struct report {
  std::vector<section> sections = {};
  std::vector<complaint> complaints = {};
};

/// From the numbers of a user to everything that accrue::plan answers about them.
///
/// What the command line prints and the page shows; each section needs its own fields, and is left out without them.
[[nodiscard]] report answer_all(given const& numbers);

}  // namespace batch_plan
#endif

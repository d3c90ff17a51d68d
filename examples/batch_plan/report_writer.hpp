// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_BATCH_PLAN_REPORT_WRITER_HPP
#define ACCRUE_EXAMPLES_BATCH_PLAN_REPORT_WRITER_HPP

#include <accrue/core/error.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/refusal.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "given.hpp"
#include "report.hpp"

namespace batch_plan {

[[nodiscard]] inline std::string text_of(accrue::plan::refusal reason) {
  auto const [what, why, way_out] = accrue::plan::explain(reason);
  constexpr std::string_view prefix = "accrue::plan: ";
  return accrue::joined({what.substr(prefix.size()), "; ", why, "; ", way_out});
}

using answers = std::vector<answer>;

inline void say(answers& to, std::string_view name, std::int64_t whole, std::string_view unit = {}) {
  to.push_back({name, whole, unit});
}
inline void say(answers& to, std::string_view name, double real, std::string_view unit = {}) {
  to.push_back({name, real, unit});
}
inline void say(answers& to, std::string_view name, std::string_view word) { to.push_back({name, word}); }

/// What the topics of a report read, and what they write into.
class report_writer {
 public:
  explicit report_writer(given const& numbers) : given_(numbers) {}

  [[nodiscard]] bool has(in which) const { return given_.has(which); }
  [[nodiscard]] std::int64_t number(in which, std::int64_t otherwise = 0) const {
    return given_.number(which, otherwise);
  }
  [[nodiscard]] std::vector<std::int64_t> const& numbers(in which) const { return given_.all(which); }

  void complain(in which, std::string text) { said_.complaints.push_back({name_of(which), std::move(text)}); }
  [[nodiscard]] bool is_flawless() const { return said_.complaints.empty(); }

  /// The value, or nothing and a complaint about the field.
  template <class T>
  std::optional<T> want(accrue::plan::planned<T> const& found, in which) {
    if (found) return found.value();
    complain(which, text_of(*found.reason()));
    return std::nullopt;
  }

  /// A new row of a table.
  answers& row_of(std::string_view table) { return rows_of(table, true).emplace_back(); }
  /// The one row of a section that is no table.
  answers& only(std::string_view name) {
    auto& rows = rows_of(name, false);
    return rows.empty() ? rows.emplace_back() : rows.back();
  }

  [[nodiscard]] report take() { return std::move(said_); }

 private:
  std::vector<answers>& rows_of(std::string_view name, bool is_table) {
    auto found = std::find_if(said_.sections.begin(), said_.sections.end(),
                              [&](section const& each) { return each.name == name; });
    if (found != said_.sections.end()) return found->rows;
    said_.sections.push_back({name, is_table});
    return said_.sections.back().rows;
  }

  given const& given_;
  report said_;
};

}  // namespace batch_plan
#endif

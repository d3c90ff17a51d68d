// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_LEDGER_SHEET_SECTION_HPP
#define ACCRUE_LEDGER_SHEET_SECTION_HPP

#include <accrue/core/scalar.hpp>
#include <accrue/ledger/run_sheet.hpp>
#include <accrue/ledger/sheet_text.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace accrue {

/// A number or a text with the name that programs know it by, and the one that readers do.
struct sheet_field {
  std::string_view key;
  std::string_view label;
  sheet_value value;
};
struct sheet_column {
  std::string_view key;
  std::string_view label;
};
struct sheet_table {
  std::string_view key;
  std::string_view none;  ///< what is said of no rows
  std::vector<sheet_column> columns;
  std::vector<std::vector<sheet_value>> rows;
};

/// A part of a run sheet, the same for every form that it is written in.
struct sheet_section {
  std::string_view key;
  std::string_view title;
  std::vector<sheet_field> fields;
  std::vector<sheet_table> tables;
  std::string_view none = {};  ///< what readers are told where all fields are 0; else those that are not are shown
};

namespace detail {

template <class T>
[[nodiscard]] sheet_value known(std::optional<T> const& value) {
  if (!value) return {};
  if constexpr (requires { value->value(); })
    return value->value();
  else
    return *value;
}
[[nodiscard]] inline sheet_value text_or_none(std::string const& text) {
  return text.empty() ? sheet_value{} : sheet_value{text};
}
[[nodiscard]] inline sheet_value value_of(sheet_number const& number) {
  return std::visit([](auto const& value) { return sheet_value(value); }, number);
}
[[nodiscard]] inline sheet_value finite_or_none(double value) {
  return is_not_a_number(value) ? sheet_value{} : sheet_value{value};
}

}  // namespace detail
}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_LEDGER_WRITE_RUN_SHEET_HPP
#define ACCRUE_LEDGER_WRITE_RUN_SHEET_HPP

#include <accrue/core/error.hpp>
#include <accrue/ledger/run_sheet.hpp>
#include <accrue/ledger/run_sheet_sections.hpp>
#include <accrue/ledger/sheet_section.hpp>
#include <accrue/ledger/sheet_text.hpp>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace accrue {

namespace detail {

inline void finish_sheet(std::ostream& out) {
  if (!out.flush())
    throw error("accrue: the stream does not take the run sheet", "the file would be cut short",
                "check the path and the space on the disk");
}

/// Whether a field is worth a line to a reader.
[[nodiscard]] inline bool is_shown(sheet_section const& section, sheet_value const& value) {
  return value != sheet_value{} && (section.none.empty() || value != sheet_value{std::int64_t{0}});
}

}  // namespace detail

/// The sheet as JSON, by the schema in docs/run_sheet.schema.json: integers with all their digits, numbers that JSON
/// has not, and those that are not known, as null.
///
/// Failure: `accrue::error` where the stream does not take it.
inline void write_json(std::ostream& out, run_sheet const& sheet) {
  std::string text = "{\n  \"format\": \"accrue run sheet\",\n  \"version\": 1";
  for (sheet_section const& section : sections_of(sheet)) {
    text.append(",\n  ").append(json_text(section.key)).append(": {");
    char const* separator = "\n    ";
    for (sheet_field const& field : section.fields) {
      text.append(separator).append(json_text(field.key)).append(": ").append(json_value(field.value));
      separator = ",\n    ";
    }
    for (sheet_table const& table : section.tables) {
      text.append(separator).append(json_text(table.key)).append(": [");
      char const* row_separator = "\n      ";
      for (auto const& row : table.rows) {
        text.append(row_separator).append("{");
        for (std::size_t c = 0; c < row.size(); ++c)
          text.append(c > 0 ? ", " : "")
              .append(json_text(table.columns[c].key))
              .append(": ")
              .append(json_value(row[c]));
        text.append("}");
        row_separator = ",\n      ";
      }
      text.append("]");
      separator = ",\n    ";
    }
    text.append("\n  }");
  }
  out << text << "\n}\n";
  detail::finish_sheet(out);
}

/// The sheet as lines `section,field,value`, with the names of the JSON; what is not known is empty. Rows of a table
/// are numbered: `memory,spaces.0.peak,4096`.
///
/// Failure: as `write_json`.
inline void write_csv(std::ostream& out, run_sheet const& sheet) {
  std::string text = "section,field,value\n";
  for (sheet_section const& section : sections_of(sheet)) {
    for (sheet_field const& field : section.fields)
      text.append(section.key).append(",").append(field.key).append(",").append(csv_value(field.value)).append("\n");
    for (sheet_table const& table : section.tables)
      for (std::size_t r = 0; r < table.rows.size(); ++r)
        for (std::size_t c = 0; c < table.rows[r].size(); ++c)
          text.append(section.key)
              .append(",")
              .append(joined({table.key, ".", std::to_string(r), ".", table.columns[c].key}))
              .append(",")
              .append(csv_value(table.rows[r][c]))
              .append("\n");
  }
  out << text;
  detail::finish_sheet(out);
}

/// The sheet as Markdown, for a report: without what is not known, and without counts of data that are 0. Of a long
/// table `most_rows` rows are shown, evenly chosen.
///
/// Failure: as `write_json`.
inline void write_markdown(std::ostream& out, run_sheet const& sheet, std::size_t most_rows = 16) {
  std::string text = "# Run sheet\n";
  for (sheet_section const& section : sections_of(sheet)) {
    text.append("\n## ").append(section.title).append("\n");
    std::string rows;
    for (sheet_field const& field : section.fields)
      if (detail::is_shown(section, field.value))
        rows.append("| ").append(field.label).append(" | ").append(markdown_value(field.value)).append(" |\n");
    if (!rows.empty())
      text.append("\n| | |\n|---|---|\n").append(rows);
    else if (!section.none.empty())
      text.append("\n").append(section.none).append("\n");
    for (sheet_table const& table : section.tables) {
      if (table.rows.empty()) {
        if (!table.none.empty()) text.append("\n").append(table.none).append("\n");
        continue;
      }
      std::string head = "\n|", rule = "|";
      for (sheet_column const& column : table.columns) {
        head.append(" ").append(column.label).append(" |");
        rule.append("---|");
      }
      text.append(head).append("\n").append(rule).append("\n");
      for (std::size_t const r : chosen_rows(table.rows.size(), most_rows)) {
        text.append("|");
        for (sheet_value const& value : table.rows[r]) text.append(" ").append(markdown_value(value)).append(" |");
        text.append("\n");
      }
      if (table.rows.size() > most_rows)
        text.append("\n")
            .append(std::to_string(most_rows))
            .append(" of ")
            .append(std::to_string(table.rows.size()))
            .append(" rows.\n");
    }
  }
  out << text;
  detail::finish_sheet(out);
}

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Everything that accrue::plan can say about a batch, on the command line: tables for people, --json for programs.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "report.hpp"

namespace {

using json = nlohmann::ordered_json;
using batch_plan::answer;
using batch_plan::section;

json json_of(batch_plan::report const& all) {
  json result = json::object();
  for (auto const& each : all.sections) {
    json rows = json::array();
    for (auto const& row : each.rows) {
      json object = json::object();
      for (auto const& one : row)
        std::visit([&](auto const& value) { object[std::string(one.name)] = value; }, one.value);
      rows.push_back(object);
    }
    result[std::string(each.name)] = each.is_table ? rows : rows.front();
  }
  for (auto const& each : all.complaints)
    result["errors"].push_back({{"option", "--" + std::string(each.field)}, {"message", each.text}});
  return result;
}

std::string words(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

/// 8 388 608; 1.25e-05.
std::string text_of(answer const& one) {
  if (auto const* word = std::get_if<std::string_view>(&one.value)) return std::string(*word);
  auto const* real = std::get_if<double>(&one.value);
  if (real != nullptr && !(*real >= 999999.5 && *real < 1e15)) {  // there, as a whole number: 1 000 000 is no 1e+06
    std::ostringstream out;
    out << std::setprecision(6) << *real;
    return out.str();
  }
  std::string digits = std::to_string(real != nullptr ? std::llround(*real) : std::get<std::int64_t>(one.value));
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, " ");
  return digits;
}

void print(section const& each) {
  std::cout << words(each.name) << '\n';
  if (!each.is_table) {
    for (auto const& one : each.rows.front())
      std::cout << "  " << std::left << std::setw(24) << words(one.name) << std::right << std::setw(20) << text_of(one)
                << (one.unit.empty() ? "" : " ") << one.unit << '\n';
    std::cout << '\n';
    return;
  }
  std::vector<std::size_t> widths;
  auto const heading = [](answer const& one) {
    return words(one.name) + (one.unit.empty() || one.unit == one.name ? "" : " [" + std::string(one.unit) + "]");
  };
  for (auto const& row : each.rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max({widths[i], heading(row[i]).size(), text_of(row[i]).size()});
  }
  auto const longest = std::max_element(each.rows.begin(), each.rows.end(),
                                        [](auto const& a, auto const& b) { return a.size() < b.size(); });
  for (std::size_t i = 0; i < widths.size(); ++i)
    std::cout << "  " << std::setw(static_cast<int>(widths[i])) << heading((*longest)[i]);
  std::cout << '\n';
  for (auto const& row : each.rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      std::cout << "  " << std::setw(static_cast<int>(widths[i])) << text_of(row[i]);
    std::cout << '\n';
  }
  std::cout << '\n';
}

}  // namespace

int main(int argc, char* argv[]) {
  constexpr int refused = 1, unreadable = 2;
  CLI::App program(
      "Batch arithmetic before a run: m samples a microbatch, A microbatches a group, D replicas.\n"
      "Exit code 0 for a plan, 1 where the numbers give none, 2 where an option cannot be read.");
  program.set_help_flag("--help", "this text");
  bool as_json = false;
  program.add_flag("--json", as_json, "print JSON, errors too");

  std::array<std::string, batch_plan::fields.size()> texts;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto const& field = batch_plan::fields[i];
    std::string help(field.help);
    if (!field.choices.empty()) help += ": " + std::string(field.choices);
    auto* option = program.add_option("--" + std::string(field.name), texts[i], help)->group(std::string(field.group));
    option->type_name(std::string(field.example));
  }
  try {
    program.parse(argc, argv);
  } catch (CLI::ParseError const& wrong) {
    if (wrong.get_exit_code() == 0) return program.exit(wrong);  // --help
    std::cerr << "batch_plan: " << wrong.what() << "\nbatch_plan --help says what there is\n";
    return unreadable;
  }

  batch_plan::given numbers;
  batch_plan::report all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (program["--" + std::string(batch_plan::fields[i].name)]->count() == 0) continue;
    if (auto const wrong = numbers.read(static_cast<batch_plan::in>(i), texts[i])) all.complaints.push_back(*wrong);
  }
  bool const readable = all.complaints.empty();
  if (readable) all = batch_plan::answer_all(numbers);

  if (as_json)
    std::cout << json_of(all).dump(2) << '\n';
  else
    for (auto const& each : all.sections) print(each);
  for (auto const& each : all.complaints) std::cerr << "batch_plan: --" << each.field << ": " << each.text << '\n';
  if (!readable) return unreadable;
  return all.complaints.empty() ? 0 : refused;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the page calls, compiled for WebAssembly: texts of the fields in, lines of answers out.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "../report.hpp"

// Nothing here throws: a throw of the headers that is reached nevertheless ends the page's call.
extern "C" {
void* __cxa_allocate_exception(std::size_t) noexcept { __builtin_trap(); }
[[noreturn]] void __cxa_throw(void*, void*, void (*)(void*)) { __builtin_trap(); }
}

namespace {

std::string input, output;  // the page's, between calls

/// Adds a line of parts with tabs between them; no part has one.
void line(std::initializer_list<std::string_view> parts) {
  for (std::string_view part : parts) {
    if (part.data() != parts.begin()->data()) output += '\t';
    output += part;
  }
  output += '\n';
}

void write(batch_plan::report const& all) {
  for (auto const& each : all.sections)
    for (auto const& row : each.rows) {
      line({"row", each.name, each.is_table ? "table" : "one"});
      for (auto const& one : row) {
        if (auto const* whole = std::get_if<std::int64_t>(&one.value))
          line({"whole", one.name, std::to_string(*whole), one.unit});
        else if (auto const* real = std::get_if<double>(&one.value))
          line({"real", one.name, std::to_string(std::bit_cast<std::int64_t>(*real)), one.unit});  // its bits
        else
          line({"word", one.name, std::get<std::string_view>(one.value), one.unit});
      }
    }
  for (auto const& each : all.complaints) line({"complaint", each.field, each.text});
}

}  // namespace

extern "C" {

/// The fields that there are: name, group, help, example, choices.
[[clang::export_name("fields")]] char const* fields() {
  output.clear();
  for (auto const& each : batch_plan::fields) line({each.name, each.group, each.help, each.example, each.choices});
  return output.c_str();
}

/// Where the page writes what was typed: a line for each field, in their order.
[[clang::export_name("room")]] char* room(std::size_t bytes) {
  input.assign(bytes, '\0');
  return input.data();
}

/// The answers to it: lines that begin with row, whole, real, word or complaint.
[[clang::export_name("answers")]] char const* answers() {
  output.clear();
  batch_plan::given numbers;
  batch_plan::report unreadable;
  std::string_view left = input;
  for (std::size_t i = 0; i < batch_plan::fields.size() && !left.empty(); ++i) {
    std::size_t const end = left.find('\n');
    if (auto const wrong = numbers.read(static_cast<batch_plan::in>(i), left.substr(0, end)))
      unreadable.complaints.push_back(*wrong);
    left = end == std::string_view::npos ? std::string_view{} : left.substr(end + 1);
  }
  write(unreadable.complaints.empty() ? batch_plan::answer_all(numbers) : unreadable);
  return output.c_str();
}
}

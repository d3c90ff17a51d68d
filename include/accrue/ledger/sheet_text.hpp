// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_LEDGER_SHEET_TEXT_HPP
#define ACCRUE_LEDGER_SHEET_TEXT_HPP

#include <accrue/core/scalar.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace accrue {

/// A value of a run sheet; nothing where it is not known.
using sheet_value = std::variant<std::monostate, std::int64_t, double, std::string>;

/// A number with as many digits as bring back its bits, whatever the locale.
[[nodiscard]] inline std::string exact_text(double value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

namespace detail {

/// The bytes of the UTF-8 sequence that `text` begins with; 0 where it begins with none.
[[nodiscard]] inline std::size_t sequence_length(std::string_view text) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned const lead = byte(0);
  std::size_t const size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  bool const overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  bool const no_character = (lead == 0xed && byte(1) > 0x9f) || (lead == 0xf4 && byte(1) > 0x8f);
  return overlong || no_character ? 0 : size;
}

}  // namespace detail

/// A text between quotation marks, as JSON writes it; bytes that are no UTF-8 become the replacement character.
/// Source: RFC 8259.
[[nodiscard]] inline std::string json_text(std::string_view text) {
  constexpr char const* digits = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    std::size_t const size = detail::sequence_length(text);
    auto const first = static_cast<unsigned char>(text.front());
    if (size == 0) {
      out.append("\\ufffd");
    } else if (first == '"' || first == '\\') {
      out.append("\\").append(1, text.front());
    } else if (first < 0x20 || first == 0x7f) {
      out.append("\\u00").append(1, digits[first >> 4]).append(1, digits[first & 0xf]);
    } else {
      out.append(text.substr(0, size));
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out.append("\"");
}

/// A field of comma-separated values: in quotation marks where it has to be. Source: RFC 4180.
[[nodiscard]] inline std::string csv_text(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (char const letter : text) out.append(letter == '"' ? 2 : 1, letter);
  return out.append("\"");
}

/// A text inside of a Markdown table.
[[nodiscard]] inline std::string markdown_text(std::string_view text) {
  std::string out;
  for (char const letter : text) {
    if (letter == '\n' || letter == '\r') {
      out.append(" ");
    } else {
      if (std::string_view("\\|<>*`[]").find(letter) != std::string_view::npos) out.append("\\");
      out.append(1, letter);
    }
  }
  return out;
}

[[nodiscard]] inline std::string json_value(sheet_value const& value) {
  if (auto const* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (auto const* text = std::get_if<std::string>(&value)) return json_text(*text);
  auto const* real = std::get_if<double>(&value);
  return real != nullptr && is_finite(*real) ? exact_text(*real) : "null";
}
[[nodiscard]] inline std::string csv_value(sheet_value const& value) {
  if (auto const* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (auto const* text = std::get_if<std::string>(&value)) return csv_text(*text);
  auto const* real = std::get_if<double>(&value);
  return real != nullptr ? exact_text(*real) : "";
}
/// With at most six digits.
[[nodiscard]] inline std::string markdown_value(sheet_value const& value) {
  if (auto const* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (auto const* text = std::get_if<std::string>(&value)) return markdown_text(*text);
  auto const* real = std::get_if<double>(&value);
  if (real == nullptr) return "not known";
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, *real, std::chars_format::general, 6).ptr};
}

/// The numbers of at most `most` rows of so many, evenly chosen, the first and the last among them.
[[nodiscard]] inline std::vector<std::size_t> chosen_rows(std::size_t rows, std::size_t most) {
  std::vector<std::size_t> chosen;
  if (rows <= most || most < 2) {
    for (std::size_t r = 0; r < rows && r < most; ++r) chosen.push_back(r);
  } else {
    for (std::size_t i = 0; i < most; ++i) chosen.push_back(i * (rows - 1) / (most - 1));
  }
  return chosen;
}

}  // namespace accrue
#endif

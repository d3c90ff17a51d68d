// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "given.hpp"

#include <accrue/core/error.hpp>

#include <limits>
#include <utility>

namespace batch_plan {
namespace {

using accrue::joined;

struct unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr std::int64_t ki = 1024, k = 1000;
constexpr std::array count_units{unit{"", 1},        unit{"k", k},       unit{"M", k* k},
                                 unit{"G", k* k* k}, unit{"B", k* k* k}, unit{"T", k* k* k* k}};
constexpr std::array byte_units{unit{"", 1},
                                unit{"B", 1},
                                unit{"kB", k},
                                unit{"MB", k* k},
                                unit{"GB", k* k* k},
                                unit{"TB", k* k* k* k},
                                unit{"KiB", ki},
                                unit{"MiB", ki* ki},
                                unit{"GiB", ki* ki* ki},
                                unit{"TiB", ki* ki* ki* ki}};
constexpr std::array duration_units{unit{"s", k* k* k}, unit{"ms", k* k}, unit{"us", k}, unit{"ns", 1}};
constexpr std::array percent_units{unit{"", 10'000}, unit{"%", 10'000}};
constexpr std::array average_units{unit{"", k* k}, unit{"k", k* k* k}};

/// A number as it is read, or what is wrong with it.
struct reading {
  std::int64_t number = 0;
  std::string wrong = {};
};

template <std::size_t Units>
reading refused(std::string_view text, char const* expected, std::array<unit, Units> const& units) {
  std::string known;
  for (auto const& each : units)
    if (!each.name.empty()) known += (known.empty() ? "" : ", ") + std::string(each.name);
  return {0, joined({"'", text, "' is ", expected, ", if need be with one of ", known})};
}

/// Digits, perhaps a fraction, and a unit. Of bytes, nanoseconds and millionths a fraction is cut off, a count has
/// none.
template <std::size_t Units>
reading decimal(std::string_view text, std::array<unit, Units> const& units, bool must_be_whole) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::size_t at = 0;
  auto const digits = [&] {
    std::size_t const from = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return text.substr(from, at - from);
  };
  std::string_view const whole = digits();
  std::string_view part;
  if (!whole.empty() && at < text.size() && text[at] == '.') {
    ++at;
    part = digits();
    if (part.empty()) return refused(text, "no number; give digits", units);
  }
  if (whole.empty())
    return refused(text, text.starts_with('-') ? "negative; give digits" : "no number; give digits", units);
  while (at < text.size() && text[at] == ' ') ++at;
  std::int64_t factor = 0;
  for (auto const& each : units)
    if (text.substr(at) == each.name) factor = each.factor;
  if (factor == 0)
    return refused(text, at == text.size() ? "without a unit; give digits" : "of an unknown unit; give digits", units);

  reading result;
  for (char digit : whole) {
    if (result.number > (most - (digit - '0')) / 10) return {0, joined({"'", text, "' exceeds 63 bits"})};
    result.number = 10 * result.number + (digit - '0');
  }
  std::int64_t fraction = 0;  // from its last digit on, so that cutting off at each cuts off the whole
  bool whole_so_far = true;
  for (std::size_t i = part.size(); i > 0; --i) {
    std::int64_t const tenths = (part[i - 1] - '0') * factor + fraction;
    whole_so_far = whole_so_far && tenths % 10 == 0;
    fraction = tenths / 10;
  }
  if (result.number > (most - fraction) / factor) return {0, joined({"'", text, "' exceeds 63 bits"})};
  if (must_be_whole && !whole_so_far) return {0, joined({"'", text, "' does not come to a whole number"})};
  result.number = result.number * factor + fraction;
  return result;
}

reading number_of(kind as, std::string_view text) {
  switch (as) {
    case kind::bytes:
    case kind::peaks:
      return decimal(text, byte_units, false);
    case kind::duration:
    case kind::timings:
      return decimal(text, duration_units, false);
    case kind::percent:
      return decimal(text, percent_units, true);
    case kind::average:
      return decimal(text, average_units, false);
    default:
      return decimal(text, count_units, true);
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// What stands before the next `mark`; takes it off the text.
std::string_view next(std::string_view& text, char mark) {
  std::size_t const end = text.find(mark);
  std::string_view const part = trimmed(text.substr(0, end));
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return part;
}

std::optional<std::string> read_pairs(field const& of, std::string_view text, std::vector<std::int64_t>& numbers) {
  while (!text.empty()) {
    std::string_view pair = next(text, ',');
    if (pair.find(':') == std::string_view::npos) return joined({"'", pair, "' is no pair; give them as ", of.example});
    reading const first = number_of(kind::count, next(pair, ':')), second = number_of(of.kind, trimmed(pair));
    for (auto const* one : {&first, &second}) {
      if (!one->wrong.empty()) return one->wrong;
      numbers.push_back(one->number);
    }
  }
  bool const is_list = of.kind == kind::lengths || of.kind == kind::stages;
  if (is_list && numbers.size() > 128) return joined({"more than 64 ", of.name, "; put neighbours together"});
  if (!is_list && numbers.size() != 4) return joined({"give two of them, as ", of.example});
  return std::nullopt;
}

}  // namespace

std::optional<complaint> given::read(in which, std::string_view text) {
  field const& of = fields[static_cast<std::size_t>(which)];
  text = trimmed(text);
  std::vector<std::int64_t> numbers;
  if (of.kind == kind::word) {
    std::string_view choices = of.choices;
    for (std::int64_t place = 0; !choices.empty(); ++place)
      if (next(choices, ' ') == text) numbers.push_back(place);
    if (numbers.empty() && !text.empty()) return complaint{of.name, joined({"'", text, "' is none of: ", of.choices})};
  } else if (of.kind == kind::lengths || of.kind == kind::stages || of.kind == kind::peaks ||
             of.kind == kind::timings) {
    if (auto wrong = text.empty() ? std::nullopt : read_pairs(of, text, numbers))
      return complaint{of.name, std::move(*wrong)};
  } else if (!text.empty()) {
    reading const one = number_of(of.kind, text);
    if (!one.wrong.empty()) return complaint{of.name, one.wrong};
    if (one.number == 0 && !of.may_be_zero)
      return complaint{of.name, joined({"'", text, "' is nothing; give more than 0, or leave it out"})};
    numbers.push_back(one.number);
  }
  numbers_[static_cast<std::size_t>(which)] = std::move(numbers);
  return std::nullopt;
}

}  // namespace batch_plan

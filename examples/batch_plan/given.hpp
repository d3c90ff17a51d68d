// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_BATCH_PLAN_GIVEN_HPP
#define ACCRUE_EXAMPLES_BATCH_PLAN_GIVEN_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fields.hpp"

namespace batch_plan {

/// What is wrong, and with which field.
struct complaint {
  std::string_view field;
  std::string text;
};

/// What a user has given: the numbers of each field, none where it is empty.
class given {
 public:
  /// Reads the text of a field; gives what is wrong with it, and then nothing is changed.
  std::optional<complaint> read(in which, std::string_view text);

  [[nodiscard]] bool has(in which) const { return !all(which).empty(); }
  [[nodiscard]] std::int64_t number(in which, std::int64_t otherwise = 0) const {
    return has(which) ? all(which).front() : otherwise;
  }
  /// Of a histogram and of measurements: first, second, first, second ...
  [[nodiscard]] std::vector<std::int64_t> const& all(in which) const {
    return numbers_[static_cast<std::size_t>(which)];
  }

 private:
  std::array<std::vector<std::int64_t>, fields.size()> numbers_;
};

[[nodiscard]] inline std::string_view name_of(in which) { return fields[static_cast<std::size_t>(which)].name; }

}  // namespace batch_plan
#endif

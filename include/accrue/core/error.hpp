// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_ERROR_HPP
#define ACCRUE_CORE_ERROR_HPP

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

namespace accrue {

/// The parts one after the other: what errors are written with, where chains of + would be compiled at every place.
[[nodiscard]] inline std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (std::string_view const part : parts) text.append(part);
  return text;
}

/// What accrue throws: says what is wrong, why it matters, and the way out.
///
/// Guarantee: the object that threw is as it was before the call.
/// Example: `accrue::every: 0 microbatches make no group; a group would never be full; give 1 or more`
class error : public std::runtime_error {
 public:
  error(std::string_view what, std::string_view why, std::string_view way_out)
      : std::runtime_error(joined({what, "; ", why, "; ", way_out})) {}
};

}  // namespace accrue
#endif

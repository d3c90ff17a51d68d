// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_ERROR_HPP
#define ACCRUE_CORE_ERROR_HPP

#include <stdexcept>
#include <string>
#include <string_view>

namespace accrue {

/// What accrue throws: says what is wrong, why it matters, and the way out.
///
/// Guarantee: the object that threw is as it was before the call.
/// Example: `accrue::every: 0 microbatches make no group; a group would never be full; give 1 or more`
class error : public std::runtime_error {
 public:
  error(std::string_view what, std::string_view why, std::string_view way_out)
      : std::runtime_error(join(what, why, way_out)) {}

 private:
  static std::string join(std::string_view what, std::string_view why, std::string_view way_out) {
    std::string text;
    text.reserve(what.size() + why.size() + way_out.size() + 4);
    text.append(what).append("; ").append(why).append("; ").append(way_out);
    return text;
  }
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_SUPPORT_FORMAT_HPP
#define ACCRUE_EXAMPLES_SUPPORT_FORMAT_HPP

#include <cstdio>
#include <string>

namespace examples {

/// 12.3
inline std::string fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

/// 1.2e-07
inline std::string scientific(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*e", decimals, value);
  return text;
}

}  // namespace examples
#endif

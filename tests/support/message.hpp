// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_SUPPORT_MESSAGE_HPP
#define ACCRUE_TESTS_SUPPORT_MESSAGE_HPP

#include <accrue/core/error.hpp>

#include <string>

namespace support {

/// What the library says to a call that it refuses.
template <class Call>
std::string message_of(Call const& call) {
  try {
    call();
  } catch (accrue::error const& e) {
    return e.what();
  }
  return "no error";
}

inline bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

}  // namespace support

#endif

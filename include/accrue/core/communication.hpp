// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_COMMUNICATION_HPP
#define ACCRUE_CORE_COMMUNICATION_HPP

#include <cstdint>

namespace accrue {

/// What a transport spent on communication since it was made.
struct communication {
  std::int64_t calls = 0;  ///< of the transport
  std::int64_t bytes = 0;  ///< that this process handed to them, each once
  double seconds = 0.0;    ///< in them, waiting for others included
};

}  // namespace accrue
#endif

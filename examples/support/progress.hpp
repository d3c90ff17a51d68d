// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_SUPPORT_PROGRESS_HPP
#define ACCRUE_EXAMPLES_SUPPORT_PROGRESS_HPP

#include <unistd.h>

#include <cstddef>
#include <iostream>
#include <string>
#include <utility>

namespace examples {

/// A bar on one line of a terminal; silent where the output goes to a file or a pipe.
class progress {
 public:
  progress(std::string label, int total) : label_(std::move(label)), total_(total) {}

  void show(int done) {
    constexpr std::size_t width = 40;
    std::size_t const filled = width * static_cast<std::size_t>(done) / static_cast<std::size_t>(total_);
    if (!terminal_ || filled == filled_) return;
    filled_ = filled;
    std::cout << '\r' << label_ << " [" << std::string(filled, '#') << std::string(width - filled, ' ') << ']'
              << std::flush;
  }

  /// Makes room for the line that reports the result.
  void clear() const {
    if (terminal_) std::cout << '\r' << std::string(label_.size() + 43, ' ') << '\r' << std::flush;
  }

 private:
  std::string label_;
  int total_;
  std::size_t filled_ = static_cast<std::size_t>(-1);
  bool terminal_ = isatty(STDOUT_FILENO) != 0;
};

}  // namespace examples
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_SUPPORT_PROGRESS_HPP
#define ACCRUE_EXAMPLES_SUPPORT_PROGRESS_HPP

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <string>
#include <utility>

namespace examples {

/// A bar on one line of a terminal, with rate and time left; silent where the output goes to a file or a pipe.
class progress {
 public:
  progress(std::string label, int total, std::string unit = "")
      : label_(std::move(label)), unit_(std::move(unit)), total_(total) {}

  void show(int done) {
    if (!terminal_ || done == 0) return;
    auto const now = clock::now();
    if (done < total_ && now - shown_ < std::chrono::milliseconds(200)) return;
    shown_ = now;

    constexpr std::size_t width = 40;
    std::size_t const filled = width * static_cast<std::size_t>(done) / static_cast<std::size_t>(total_);
    double const rate = done / std::chrono::duration<double>(now - begun_).count();
    int const left = static_cast<int>((total_ - done) / rate);
    char figures[64];
    std::snprintf(figures, sizeof figures, "%.1f %s/s, %d:%02d left ", rate, unit_.c_str(), left / 60, left % 60);
    std::string bar = label_ + " [" + std::string(filled, '#') + std::string(width - filled, ' ') + "] " + figures;
    if (bar.size() < longest_) bar.resize(longest_, ' ');
    longest_ = bar.size();
    std::cout << '\r' << bar << std::flush;
  }

  /// Makes room for the line that reports the result.
  void clear() const {
    if (terminal_) std::cout << '\r' << std::string(longest_, ' ') << '\r' << std::flush;
  }

 private:
  using clock = std::chrono::steady_clock;
  std::string label_, unit_;
  int total_;
  clock::time_point begun_ = clock::now(), shown_;
  std::size_t longest_ = 0;
  bool terminal_ = isatty(STDOUT_FILENO) != 0;
};

}  // namespace examples
#endif

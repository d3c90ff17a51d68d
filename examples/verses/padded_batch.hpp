// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lines of different length as one rectangle: what is short is padded to the longest.
#ifndef ACCRUE_EXAMPLES_VERSES_PADDED_BATCH_HPP
#define ACCRUE_EXAMPLES_VERSES_PADDED_BATCH_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <vector>

#include "../support/dense_layer.hpp"
#include "../support/softmax_cross_entropy.hpp"
#include "corpus.hpp"

namespace examples {

inline constexpr int context_size = 2;  // a word is predicted from the two before it

using context_words = Kokkos::View<int**, Kokkos::LayoutRight>;  // positions by words before
using line_numbers = std::vector<int>;                           // which lines a microbatch is made of

[[nodiscard]] inline int longest_line(corpus const& all, line_numbers const& chosen) {
  std::size_t longest = 0;
  for (int const number : chosen) longest = std::max(longest, all.lines[static_cast<std::size_t>(number)].size());
  return static_cast<int>(longest);
}

[[nodiscard]] inline int longest_line(corpus const& all) {
  auto const shorter = [](line const& a, line const& b) { return a.size() < b.size(); };
  return static_cast<int>(std::max_element(all.lines.begin(), all.lines.end(), shorter)->size());
}

/// The contexts and targets of a microbatch, one row a position. Made once for `capacity` positions, then refilled.
///
/// Ignored positions: padding, unknown words, and the first word of a line, which has nothing before it.
class padded_batch {
 public:
  explicit padded_batch(int capacity)
      : contexts_("examples::contexts", capacity, context_size),
        targets_("examples::targets", capacity),
        host_contexts_("examples::host_contexts", capacity, context_size),
        host_targets_("examples::host_targets", capacity) {}

  /// Cost: a fence, so that nothing still reads what was there before, and two copies to the device.
  void fill(execution const& exec, corpus const& all, line_numbers const& chosen) {
    exec.fence("examples::padded_batch::fill");
    int const length = longest_line(all, chosen);
    positions_ = length * static_cast<int>(chosen.size());
    supervised_ = 0;
    int position = 0;
    for (int const number : chosen)
      for (int i = 0; i < length; ++i) fill_position(all.lines[static_cast<std::size_t>(number)], i, position++);
    Kokkos::deep_copy(exec, contexts_, host_contexts_);
    Kokkos::deep_copy(exec, targets_, host_targets_);
  }

  [[nodiscard]] int positions() const { return positions_; }
  [[nodiscard]] int supervised() const { return supervised_; }
  [[nodiscard]] int ignored_ones() const { return positions_ - supervised_; }
  [[nodiscard]] context_words const& contexts() const { return contexts_; }
  [[nodiscard]] Kokkos::View<int*> targets() const {
    return Kokkos::subview(targets_, Kokkos::pair<int, int>(0, positions_));
  }

 private:
  void fill_position(line const& words, int i, int position) {
    auto const word = [&](int at) {
      return at < 0 || at >= static_cast<int>(words.size()) ? no_word : words[static_cast<std::size_t>(at)];
    };
    for (int back = 0; back < context_size; ++back) host_contexts_(position, back) = word(i - 1 - back);
    bool const learned = i > 0 && word(i) >= first_word;
    host_targets_(position) = learned ? word(i) : ignored;
    if (learned) ++supervised_;
  }

  context_words contexts_;
  Kokkos::View<int*> targets_;
  Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> host_contexts_;
  Kokkos::View<int*, Kokkos::HostSpace> host_targets_;
  int positions_ = 0;
  int supervised_ = 0;
};

}  // namespace examples
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_LARGEST_DIVISOR_HPP
#define ACCRUE_PLAN_LARGEST_DIVISOR_HPP

#include <cstdint>

namespace accrue::plan {

/// The largest number up to `at_most` of which `whole` is a multiple; both are at least 1.
///
/// Cost: at most 2 sqrt(whole) divisions. From each answer down to the next, all of them together take no more.
[[nodiscard]] constexpr std::int64_t largest_divisor(std::int64_t whole, std::int64_t at_most) noexcept {
  if (at_most >= whole) return whole;
  // Down to the square root it is the whole over a small number; below that it is small itself.
  std::int64_t parts = (whole - 1) / at_most + 1;
  for (; parts <= whole / parts; ++parts)
    if (whole % parts == 0) return whole / parts;
  std::int64_t size = at_most < parts - 1 ? at_most : parts - 1;
  while (whole % size != 0) --size;
  return size;
}

}  // namespace accrue::plan
#endif

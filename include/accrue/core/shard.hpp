// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_SHARD_HPP
#define ACCRUE_CORE_SHARD_HPP

#include <cstdint>

namespace accrue {

/// Which part of a model's sums and state one of several members keeps: of each block of numbers a run, the runs of all
/// members in their order and of one length. With one member it is everything.
struct shard {
  int member = 0;
  int members = 1;

  /// How many of `words` numbers each member keeps, a multiple of `align`; the last ones may have fewer.
  [[nodiscard]] constexpr std::int64_t words_of_each(std::int64_t words, std::int64_t align) const {
    std::int64_t const all = align * members;
    return (words + all - 1) / all * align;
  }
  friend bool operator==(shard const&, shard const&) = default;
};

}  // namespace accrue
#endif

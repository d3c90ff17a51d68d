// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_LENDING_HPP
#define ACCRUE_PASSES_LENDING_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

namespace accrue {

/// Where the sets of gradients lie that are lent: of each view at equal distances behind its sum.
struct lending {
  int sets = 0;
  int words_before = 0;                   ///< distances between the sum and the first set
  std::vector<std::int64_t> bytes_apart;  ///< of each view

  /// The set that memory belongs to, or -1; `sum` is that of the view.
  [[nodiscard]] int set_of(void const* data, void const* sum, std::size_t view) const {
    auto const behind = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data)) -
                        static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(sum));
    if (sets == 0 || bytes_apart[view] == 0 || behind % bytes_apart[view] != 0) return -1;
    std::int64_t const set = behind / bytes_apart[view] - words_before;
    return set >= 0 && set < sets ? static_cast<int>(set) : -1;
  }
};

}  // namespace accrue
#endif

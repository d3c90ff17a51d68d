// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_CHUNK_TABLE_HPP
#define ACCRUE_PASSES_CHUNK_TABLE_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <vector>

namespace accrue {

/// A run of elements of one view: the unit of work of every pass, and of the fixed order in which norms are summed.
struct chunk {
  std::int64_t begin;
  std::int64_t end;
  std::int32_t view;
};

/// Elements of a full chunk: 64 KiB of floats stay in the second-level cache.
inline constexpr std::int64_t chunk_elements = 16 * 1024;

/// Cuts views of the given sizes into chunks; a view of size 0 has none.
[[nodiscard]] inline std::vector<chunk> cut_into_chunks(std::vector<std::int64_t> const& sizes) {
  std::vector<chunk> chunks;
  for (std::size_t view = 0; view < sizes.size(); ++view) {
    for (std::int64_t begin = 0; begin < sizes[view]; begin += chunk_elements) {
      chunks.push_back({begin, std::min(begin + chunk_elements, sizes[view]), static_cast<std::int32_t>(view)});
    }
  }
  return chunks;
}

}  // namespace accrue
#endif

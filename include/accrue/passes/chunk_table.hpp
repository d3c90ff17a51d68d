// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_CHUNK_TABLE_HPP
#define ACCRUE_PASSES_CHUNK_TABLE_HPP

#include <accrue/core/strided.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace accrue {

/// A run of elements of one view: the unit of work of every pass, and of the fixed order in which norms are summed.
struct chunk {
  std::int64_t begin;
  std::int64_t end;
  std::int32_t view;
  friend bool operator==(chunk const&, chunk const&) = default;
};

/// Elements of a full chunk: 64 KiB of floats stay in the second-level cache.
inline constexpr std::int64_t chunk_elements = 16 * 1024;

/// Cuts views of the given sizes into chunks; a view of size 0 has none. Where `runs` says of a view that so many from
/// it on share their cache lines, their chunks take turns: a line is fetched once for all of them.
[[nodiscard]] inline std::vector<chunk> cut_into_chunks(std::vector<std::int64_t> const& sizes,
                                                        std::vector<std::size_t> const& runs = {}) {
  std::vector<chunk> chunks;
  for (std::size_t view = 0, next = 0; view < sizes.size(); view = next) {
    next = view + (runs.empty() ? 1 : runs[view]);
    for (std::int64_t begin = 0; begin < sizes[view]; begin += chunk_elements) {
      std::int64_t const end = std::min(begin + chunk_elements, sizes[view]);
      for (std::size_t v = view; v < next; ++v) chunks.push_back({begin, end, static_cast<std::int32_t>(v)});
    }
  }
  return chunks;
}

/// For each view how many, from it on, are of one shape and lie between each other, as the rows of a LayoutLeft matrix
/// do: element by element within 64 bytes.
[[nodiscard]] inline std::vector<std::size_t> interleaved_runs(std::vector<strided> const& views) {
  auto const beside = [](strided const& a, strided const& b) {
    auto const one = reinterpret_cast<std::uintptr_t>(a.data), other = reinterpret_cast<std::uintptr_t>(b.data);
    bool const near = std::max(one, other) - std::min(one, other) < 64;
    return near && !a.contiguous() && a.size == b.size && std::ranges::equal(a.axes, b.axes);
  };
  std::vector<std::size_t> runs(views.size(), 1);
  for (std::size_t first = 0; first < views.size(); first += runs[first])
    while (first + runs[first] < views.size() && beside(views[first], views[first + runs[first]])) ++runs[first];
  return runs;
}

/// Consecutive chunks, from `begin` to before `end`: the part of one host thread.
struct share {
  std::int64_t begin;
  std::int64_t end;
  friend bool operator==(share const&, share const&) = default;
};

/// Cuts chunks into shares of about equal work, counted in elements and something for each chunk; at least one share.
[[nodiscard]] inline std::vector<share> cut_into_shares(std::vector<chunk> const& chunks, std::int64_t shares) {
  constexpr std::int64_t cost_of_chunk = 64;
  auto const work = [](chunk const& c) { return c.end - c.begin + cost_of_chunk; };
  std::int64_t total = 0;
  for (chunk const& c : chunks) total += work(c);

  std::vector<share> cut;
  std::int64_t const count = std::max<std::int64_t>(shares, 1);
  std::int64_t done = 0;
  std::int64_t at = 0;
  auto const last = static_cast<std::int64_t>(chunks.size());
  for (std::int64_t s = 1; s <= count; ++s) {
    std::int64_t const begin = at;
    double const until = static_cast<double>(total) * (static_cast<double>(s) / static_cast<double>(count));
    while (at < last && (s == count ||
                         static_cast<double>(done) + 0.5 * static_cast<double>(work(chunks[std::size_t(at)])) <= until))
      done += work(chunks[static_cast<std::size_t>(at++)]);
    cut.push_back({begin, at});
  }
  return cut;
}

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_BLOCK_HPP
#define ACCRUE_PASSES_BLOCK_HPP

#include <accrue/core/device_array.hpp>
#include <accrue/core/scalar_id.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/passes/chunk_table.hpp>
#include <accrue/passes/device_table.hpp>
#include <accrue/passes/launch.hpp>

#include <Kokkos_Core.hpp>
#include <array>
#include <cstdint>
#include <vector>

namespace accrue {

/// One view of the model as a pass sees it.
struct view_entry {
  strided parameter;
  std::int32_t group;  ///< of parameters that share a rule
};

/// Where the buffer keeps a view, and the group of parameters whose rule changes it.
struct placement {
  std::int64_t begin = 0;
  std::int32_t group = 0;
  friend bool operator==(placement const&, placement const&) = default;
};

/// All parameters of one scalar type: their buffer and optimizer state in one aligned arena, and the tables that let
/// one launch handle them all.
///
/// `Sets` sets of gradients are added in one pass. Where gradients are lent, the arena has room for them as well.
template <class Exec, class P, class B, int Sets>
struct block {
  using parameter_scalar = P;
  using buffer_scalar = B;

  std::int64_t first_view = 0;   ///< number of its first view among all of the model
  std::int64_t first_chunk = 0;  ///< likewise
  std::int64_t words_apart = 0;  ///< elements of the buffer, of each word of state, of each set
  int state_words = 0;
  device_array<B, Exec> arena;  ///< the buffer, then the words of state, then the sets that are lent

  device_table<chunk, Exec> chunks;
  device_table<share, Exec> shares;  ///< one for each thread of a host
  device_table<strided, Exec> parameters;
  device_table<strided, Exec> sums;                         ///< the buffer's part of each view
  std::array<device_table<strided, Exec>, Sets> gradients;  ///< of the contributions that are not added yet
  device_table<placement, Exec> placements;

  [[nodiscard]] chunk_list list() const {
    return {chunks.data(), shares.data(), static_cast<std::int64_t>(chunks.size()),
            static_cast<std::int64_t>(shares.size())};
  }
  [[nodiscard]] B* state() const { return arena.data() + words_apart; }
  /// What is written in one pass has left the caches before the next pass reads it.
  [[nodiscard]] bool exceeds_caches() const {
    return words_apart * static_cast<std::int64_t>(sizeof(B)) > (std::int64_t{64} << 20);
  }
  /// Where a view lies in a set that is lent: -1 is the buffer itself.
  [[nodiscard]] B* lent(int set, std::int64_t view) const {
    std::int64_t const word = set < 0 ? 0 : 1 + state_words + set;
    return arena.data() + word * words_apart + placements[static_cast<std::size_t>(view)].begin;
  }

  /// Lays out the arena. Cost: allocates; the state begins at zero, the buffer needs no clearing.
  void lay_out(Exec const& exec, std::vector<view_entry> const& views, int words_of_state, int sets_lent) {
    state_words = words_of_state;
    constexpr std::int64_t align = 64 / static_cast<std::int64_t>(sizeof(B));
    std::vector<std::int64_t> sizes;
    std::vector<placement> places;
    std::vector<strided> where;
    for (view_entry const& view : views) {
      sizes.push_back(view.parameter.size);
      places.push_back({words_apart, view.group});
      where.push_back(view.parameter);
      words_apart += (view.parameter.size + align - 1) / align * align;
    }
    arena = {exec, "accrue::buffer_and_state", static_cast<std::size_t>(words_apart * (1 + state_words + sets_lent))};
    std::vector<strided> kept(views.size());
    for (std::size_t v = 0; v < views.size(); ++v)
      kept[v] = run_of(arena.data() + places[v].begin, sizes[v], scalar_id<B>());

    std::vector<chunk> cut = cut_into_chunks(sizes);
    shares = {exec, "accrue::passes::shares", cut_into_shares(cut, runs_on_host_v<Exec> ? exec.concurrency() : 1)};
    chunks = {exec, "accrue::passes::chunks", std::move(cut)};
    parameters = {exec, "accrue::passes::parameters", std::move(where)};
    sums = {exec, "accrue::passes::sums", std::move(kept)};
    for (auto& set : gradients)
      set = {exec, "accrue::passes::gradients", std::vector<strided>(views.size()), table_versions};
    placements = {exec, "accrue::passes::placements", std::move(places)};
  }
};

}  // namespace accrue
#endif

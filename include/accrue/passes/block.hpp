// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_BLOCK_HPP
#define ACCRUE_PASSES_BLOCK_HPP

#include <accrue/core/carried.hpp>
#include <accrue/core/device_array.hpp>
#include <accrue/core/scalar_id.hpp>
#include <accrue/core/shard.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/passes/chunk_table.hpp>
#include <accrue/passes/device_table.hpp>
#include <accrue/passes/launch.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace accrue {

/// Where the buffer keeps a view, and the group of parameters whose rule changes it.
struct placement {
  std::int64_t begin = 0;
  std::int32_t group = 0;
  friend bool operator==(placement const&, placement const&) = default;
};

/// The views of a block as they are entered one by one, before anything is allocated.
struct block_plan {
  std::vector<strided> parameters;
  std::vector<std::int64_t> sizes;
  std::vector<placement> placements;
  std::int64_t words = 0;  ///< elements of the buffer, every view aligned to 64 bytes

  [[nodiscard]] std::size_t views() const { return parameters.size(); }
  /// `group` is that of parameters that share a rule; `bytes` are those of an element of the buffer.
  void add(strided const& parameter, std::int32_t group, std::int64_t bytes) {
    std::int64_t const align = 64 / bytes;
    parameters.push_back(parameter);
    sizes.push_back(parameter.size);
    placements.push_back({words, group});
    words += (parameter.size + align - 1) / align * align;
  }
};

/// What of these chunks lies among the words of a buffer from `first` to before `last`.
[[nodiscard]] inline std::vector<chunk> chunks_between(std::vector<chunk> const& chunks,
                                                       std::vector<placement> const& placements, std::int64_t first,
                                                       std::int64_t last) {
  std::vector<chunk> inside;
  for (chunk each : chunks) {
    std::int64_t const begin = placements[static_cast<std::size_t>(each.view)].begin;
    each.begin = std::max(each.begin, first - begin);
    each.end = std::min(each.end, last - begin);
    if (each.begin < each.end) inside.push_back(each);
  }
  return inside;
}

/// Where a pass finds what a summation carries beside the sums of a block: word after word, each laid out as the buffer
/// is, part by part where that is complex.
template <class Carry>
struct carried_sums {
  typename Carry::word* first;
  std::int64_t words_apart;  ///< in elements of the buffer
  placement const* placements;
};

/// All parameters of one scalar type: their buffer and optimizer state in one aligned arena, and the tables that let
/// one launch handle them all.
///
/// Where gradients are lent, the arena has room for them as well.
template <class Exec, class P, class B>
struct block {
  using parameter_scalar = P;
  using buffer_scalar = B;

  std::int64_t first_view = 0;   ///< number of its first view among all of the model
  std::int64_t first_chunk = 0;  ///< likewise
  std::int64_t words_apart = 0;  ///< elements of the buffer, of each word of state, of each set
  std::int64_t words = 0;        ///< of all members, where each keeps a shard of them
  std::int64_t first_word = 0;   ///< of this shard
  int state_words = 0;
  device_array<B, Exec> arena;        ///< the buffer, then the words of state, then the sets that are lent
  device_array<double, Exec> beside;  ///< what the summation carries; none where it carries nothing

  device_table<chunk, Exec> chunks;
  device_table<share, Exec> shares;  ///< one for each thread of a host
  device_table<strided, Exec> parameters;
  device_table<placement, Exec> placements;
  std::vector<chunk> whole;  ///< those of all members, where each keeps a shard

  [[nodiscard]] chunk_list list() const {
    return {chunks.data(), shares.data(), static_cast<std::int64_t>(chunks.size()),
            static_cast<std::int64_t>(shares.size())};
  }
  [[nodiscard]] std::int64_t bytes_apart() const { return words_apart * static_cast<std::int64_t>(sizeof(B)); }
  [[nodiscard]] B* state() const { return arena.data() + words_apart; }
  /// What is written in one pass has left the caches before the next pass reads it.
  [[nodiscard]] bool exceeds_caches() const { return bytes_apart() > (std::int64_t{64} << 20); }
  /// Where a view lies in a set that is lent: -1 is the buffer itself.
  [[nodiscard]] B* lent(int set, std::int64_t view) const {
    std::int64_t const word = set < 0 ? 0 : 1 + state_words + set;
    return arena.data() + word * words_apart + placements[static_cast<std::size_t>(view)].begin;
  }

  template <class Carry>
  [[nodiscard]] carried_sums<Carry> carried() const {
    return {reinterpret_cast<typename Carry::word*>(beside.data()), words_apart, placements.data()};
  }

  /// Where they lie for one view.
  template <class Summation>
  [[nodiscard]] std::vector<strided> carried_runs(std::size_t view) const {
    using carry = carry_of<Summation, B>;
    constexpr std::int64_t parts = is_complex_v<B> ? 2 : 1;
    std::vector<strided> runs;
    for (int word = 0; word < carry::words; ++word)
      runs.push_back(run_of(carried<carry>().first + parts * (word * words_apart + placements[view].begin),
                            parts * parameters[view].size, scalar_id<typename carry::word>()));
    return runs;
  }

  /// Lays out the arena, and `carried` bytes beside each element of the buffer. Cost: allocates; the state begins at
  /// zero, the buffer needs no clearing.
  /// Of a `shard` of the words only what belongs to it; places in the arena are counted from its first word then.
  void lay_out(Exec const& exec, block_plan plan, int words_of_state, int sets_lent, std::int64_t carried = 0,
               shard const& of = {}) {
    state_words = words_of_state;
    words = plan.words;
    words_apart = of.words_of_each(words, 64 / static_cast<std::int64_t>(sizeof(B)));
    first_word = of.member * words_apart;
    arena = {exec, "accrue::buffer_and_state", static_cast<std::size_t>(words_apart * (1 + state_words + sets_lent))};
    if (carried > 0) beside = {exec, "accrue::carried_sums", static_cast<std::size_t>((words_apart * carried + 7) / 8)};
    std::vector<chunk> cut = cut_into_chunks(plan.sizes, interleaved_runs(plan.parameters));
    if (of.members > 1) {
      whole = std::exchange(cut, chunks_between(cut, plan.placements, first_word, first_word + words_apart));
      for (placement& each : plan.placements) each.begin -= first_word;
    }
    shares = {exec, "accrue::passes::shares", cut_into_shares(cut, runs_on_host_v<Exec> ? exec.concurrency() : 1)};
    chunks = {exec, "accrue::passes::chunks", std::move(cut)};
    parameters = {exec, "accrue::passes::parameters", std::move(plan.parameters)};
    placements = {exec, "accrue::passes::placements", std::move(plan.placements)};
  }
  /// The buffer's part of a view of `size` elements.
  [[nodiscard]] strided sum(std::size_t view) const { return word(0, view); }
  /// The part of a view in a word of the arena, the buffer being the first. Of a shard there are only the elements that
  /// belong to it, see `kept`.
  [[nodiscard]] strided word(std::int64_t number, std::size_t view) const {
    return run_of(arena.data() + number * words_apart + placements[view].begin, parameters[view].size, scalar_id<B>());
  }
  /// The elements of a view whose sums are kept here: all of them, but for a shard.
  [[nodiscard]] chunk kept(std::size_t view) const {
    std::int64_t const begin = placements[view].begin;
    std::int64_t const first = std::clamp<std::int64_t>(-begin, 0, parameters[view].size);
    return {first, std::clamp(words_apart - begin, first, parameters[view].size), static_cast<std::int32_t>(view)};
  }
};

}  // namespace accrue
#endif

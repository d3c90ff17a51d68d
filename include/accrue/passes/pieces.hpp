// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_PIECES_HPP
#define ACCRUE_PASSES_PIECES_HPP

#include <accrue/core/device_array.hpp>
#include <accrue/passes/chunk_table.hpp>
#include <accrue/passes/device_table.hpp>
#include <accrue/passes/launch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace accrue {

/// A part of the buffer of one block, and the chunks whose sums lie there.
struct piece {
  std::size_t block = 0;
  chunk_list list{};
  std::int64_t first_word = 0;
  std::int64_t words = 0;
};

/// Cuts the buffers of a model into pieces of at least so many bytes, which end where chunks do.
template <class Exec>
class pieces_of_model {
 public:
  template <class Model>
  pieces_of_model(Exec const& exec, Model& model, std::int64_t bytes) {
    std::size_t number = 0;
    model.for_each_block({}, [&]<class Block>(Block& each, auto const&...) {
      cut(exec, each, number++, bytes / static_cast<std::int64_t>(sizeof(typename Block::buffer_scalar)));
    });
  }
  [[nodiscard]] std::vector<piece> const& all() const { return pieces_; }

 private:
  template <class Block>
  void cut(Exec const& exec, Block& block, std::size_t number, std::int64_t least) {
    auto const count = static_cast<std::int64_t>(block.chunks.size());
    auto const word = [&](chunk const& c, std::int64_t element) {
      return block.placements[static_cast<std::size_t>(c.view)].begin + element;
    };
    // Chunks of views that lie between each other take turns: a piece ends where all of them are done.
    std::vector<std::int64_t> ahead(static_cast<std::size_t>(count) + 1, block.words_apart);
    for (std::int64_t c = count; c-- > 0;) {
      chunk const& each = block.chunks[static_cast<std::size_t>(c)];
      ahead[static_cast<std::size_t>(c)] = std::min(ahead[static_cast<std::size_t>(c) + 1], word(each, each.begin));
    }
    std::int64_t first_chunk = 0, first_word = 0, done = 0;
    for (std::int64_t c = 0; c < count; ++c) {
      chunk const& each = block.chunks[static_cast<std::size_t>(c)];
      done = std::max(done, word(each, each.end));
      std::int64_t const next = ahead[static_cast<std::size_t>(c) + 1];
      bool const last = c + 1 == count;
      if (!last && (done > next || next - first_word < least)) continue;
      std::int64_t const end = last ? block.words_apart : next;
      add(exec, block, number, first_chunk, c + 1, first_word, end);
      first_chunk = c + 1, first_word = end;
    }
  }
  template <class Block>
  void add(Exec const& exec, Block& block, std::size_t number, std::int64_t from, std::int64_t to, std::int64_t first,
           std::int64_t end) {
    std::vector<chunk> chunks;
    for (std::int64_t c = from; c < to; ++c) chunks.push_back(block.chunks[static_cast<std::size_t>(c)]);
    std::vector<share> shares = cut_into_shares(chunks, runs_on_host_v<Exec> ? exec.concurrency() : 1);
    for (share& each : shares) each.begin += from, each.end += from;
    auto const share_count = static_cast<std::int64_t>(shares.size());
    shares_.emplace_back(exec, "accrue::passes::shares", std::move(shares));
    pieces_.push_back(
        {number, {block.chunks.data(), shares_.back().data(), to - from, share_count, from}, first, end - first});
  }

  std::vector<piece> pieces_;
  std::vector<device_table<share, Exec>> shares_;
};

/// The chunks of a block that a pass goes over: all of them, or those of one piece.
template <class Block>
[[nodiscard]] chunk_list chunks_of(Block const& block, std::size_t number, piece const* only) {
  if (only == nullptr) return block.list();
  return only->block == number ? only->list : chunk_list{};
}

}  // namespace accrue
#endif

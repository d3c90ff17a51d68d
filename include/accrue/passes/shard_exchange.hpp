// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_SHARD_EXCHANGE_HPP
#define ACCRUE_PASSES_SHARD_EXCHANGE_HPP

#include <accrue/core/device_array.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/core/scalar_id.hpp>
#include <accrue/core/shard.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/passes/chunk_table.hpp>
#include <accrue/passes/device_table.hpp>
#include <accrue/passes/launch.hpp>
#include <accrue/passes/model_types.hpp>
#include <accrue/passes/stage.hpp>
#include <accrue/passes/walk.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace accrue {

/// Adds microbatches to sums of which each member keeps a shard, and brings the parameters, or the state, of all shards
/// together.
///
/// They go over in rounds, so that little is staged: in each as many words of every member's shard. Cost: two pieces of
/// at most 4 MiB and a 1/members of it, and tables, allocated at construction.
template <class Exec, class Model>
class shard_exchange {
  using set_type = typename Model::set_type;
  template <class Block>
  static constexpr std::int64_t parts = is_complex_v<typename Block::buffer_scalar> ? 2 : 1;

 public:
  shard_exchange(Exec const& exec, Model& model, shard const& of) : own_(of) {
    std::size_t staged = 0, received = 0;
    model.for_each_block({}, [&]<class Block>(Block& each, auto const&...) {
      std::int64_t const least = cut(exec, each);
      constexpr std::size_t bytes =
          std::max(sizeof(typename Block::buffer_scalar), sizeof(typename Block::parameter_scalar));
      staged = std::max(staged, static_cast<std::size_t>(least * own_.members) * bytes);
      received = std::max(received, static_cast<std::size_t>(least) * bytes);
    });
    staged_ = {exec, "accrue::reduce::staged", (staged + 7) / 8};
    received_ = {exec, "accrue::reduce::received", (received + 7) / 8};
  }

  /// Adds the contribution that is held, of this member and of each other one. `weigh_for` as for `model::add`; the
  /// `first` ones of a group overwrite.
  template <class Contribution, class Transport, class WeighFor>
  void add(Transport const& transport, Exec const& exec, Model& model, WeighFor const& weigh_for, bool first) {
    strided const* const gradients = model.held_gradients(exec);
    add_staged(transport, exec, model, first, [&]<class Block>(Block const& each, rounds_of<Block> const& here) {
      using B = typename Block::buffer_scalar;
      using found = gradient_scalars<typename Block::parameter_scalar, set_type, Contribution>;
      using weigh_type = decltype(weigh_for(std::type_identity<B>{}, 0));
      bool takes_absent = true;
      found::for_each([&]<class G>(std::type_identity<G>) {
        for_each_chunk("accrue::reduce::stage", exec, here.list,
                       stage_gradients<G, B, weigh_type>{here.chunks, gradients + each.first_view, scalar_id<G>(),
                                                         std::exchange(takes_absent, false), staged<B>(),
                                                         weigh_for(std::type_identity<B>{}, 0)});
      });
      return found::size > 0;
    });
  }
  /// The same of a member that has no contribution while others have.
  template <class Transport>
  void add_nothing(Transport const& transport, Exec const& exec, Model& model, bool first) {
    add_staged(transport, exec, model, first, [](auto const&, auto const&) { return false; });
  }

  /// Brings the parameters of each shard to all members, and what is written beside them.
  template <class Transport>
  void gather_parameters(Transport const& transport, Exec const& exec, Model& model) {
    for_each_round(model, [&]<class Block>(Block& each, rounds_of<Block> const& here) {
      using P = typename Block::parameter_scalar;
      using writers = typename Model::template writers<P>;
      for_each_chunk("accrue::reduce::stage_parameters", exec, here.list,
                     stage_parameters<P>{here.chunks, each.parameters.data(), own_.member, staged<P>()});
      transport.gather_parts(exec, reinterpret_cast<std::byte*>(staged_.data()),
                             here.words * static_cast<std::int64_t>(sizeof(P)));
      parameter_writing const* const writing = model.writing();
      for_each_chunk("accrue::reduce::take_parameters", exec, here.list,
                     take_parameters<P, writers>{here.chunks, each.parameters.data(), own_.member, staged<P>(),
                                                 writing == nullptr ? nullptr : writing + each.first_view});
    });
  }

  /// Brings elements of a word of state of a view to all members, from `first` on and as many as there is room for.
  ///
  /// Guarantee: the bits of the member that keeps them; the others add negative zeros.
  template <class Transport>
  [[nodiscard]] strided bring_state(Transport const& transport, Exec const& exec, Model& model, std::size_t view,
                                    int word, std::int64_t first) {
    strided const all = model.storage().state(view, word);
    chunk const kept = model.storage().kept(view);
    strided brought;
    std::size_t number = 0;
    model.for_each_block({}, [&]<class Block>(Block&, auto const&...) {
      if (number++ != model.directory()[view].block) return;
      using B = typename Block::buffer_scalar;
      using real = real_t<B>;
      constexpr std::int64_t numbers = parts<Block>;
      auto const room = static_cast<std::int64_t>(staged_.size() * sizeof(double) / sizeof(B));
      std::int64_t const count = std::min(all.size - first, room);
      Kokkos::parallel_for(
          "accrue::reduce::stage_state",
          Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, count * numbers),
          stage_state<real>{static_cast<real const*>(all.data) + first * numbers, (kept.begin - first) * numbers,
                            (kept.end - first) * numbers, staged<real>()});
      transport.sum(exec, staged<real>(), count * numbers);
      brought = run_of(staged<B>(), count, all.scalar);
    });
    return brought;
  }

 private:
  static constexpr std::int64_t piece_bytes = std::int64_t{4} << 20;

  struct round {
    std::size_t block;
    std::int64_t first;  ///< word of each shard
    std::int64_t words;
    chunk_list list;
  };
  /// A round as kernels want it.
  template <class Block>
  struct rounds_of {
    staged_chunk const* chunks;
    chunk_list list;
    std::int64_t first;
    std::int64_t words;
  };

  template <class T>
  [[nodiscard]] T* staged() {
    return reinterpret_cast<T*>(staged_.data());
  }
  template <class Visit>
  void for_each_round(Model& model, Visit const& visit) {
    std::size_t number = 0;
    model.for_each_block({}, [&]<class Block>(Block& each, auto const&...) {
      for (round const& one : rounds_)
        if (one.block == number) visit(each, rounds_of<Block>{chunks_[number].data(), one.list, one.first, one.words});
      ++number;
    });
  }

  /// `stage(block, round)` lays out what this member adds, and says whether there is anything.
  template <class Transport, class Stage>
  void add_staged(Transport const& transport, Exec const& exec, Model& model, bool first, Stage const& stage) {
    for_each_round(model, [&]<class Block>(Block& each, rounds_of<Block> const& here) {
      using B = typename Block::buffer_scalar;
      using real = real_t<B>;
      using range = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
      std::int64_t const numbers = here.words * parts<Block>;
      if (!stage(each, here))
        Kokkos::parallel_for("accrue::reduce::stage_nothing", range(exec, 0, numbers * own_.members),
                             clear_words<real>{staged<real>()});
      real* const mine = reinterpret_cast<real*>(received_.data());
      transport.sum_parts(exec, static_cast<real const*>(staged<real>()), mine, numbers);
      Kokkos::parallel_for("accrue::reduce::add_part", range(exec, 0, numbers),
                           add_received<real>{reinterpret_cast<real*>(each.arena.data() + here.first), mine, first});
    });
  }

  /// Cuts a block into rounds. Returns the words of the largest.
  template <class Block>
  std::int64_t cut(Exec const& exec, Block& block) {
    constexpr auto bytes = static_cast<std::int64_t>(sizeof(typename Block::buffer_scalar));
    constexpr std::int64_t align = 64 / bytes;
    std::int64_t const of_each = block.words_apart;
    std::int64_t const most = std::min(of_each, std::max(align, piece_bytes / (bytes * own_.members) / align * align));
    std::vector<placement> at;  // counted from the first word of all members
    for (std::size_t v = 0; v < block.placements.size(); ++v)
      at.push_back({block.placements[v].begin + block.first_word, 0});
    std::vector<chunk> const all = own_.members > 1 ? block.whole : block_chunks(block);

    std::vector<std::vector<staged_chunk>> runs;  // round by round, of each member
    if (most > 0) runs.resize(static_cast<std::size_t>((of_each + most - 1) / most * own_.members));
    for (chunk each : all) {
      std::int64_t const begin = at[static_cast<std::size_t>(each.view)].begin;
      while (each.begin < each.end) {
        std::int64_t const owner = (begin + each.begin) / of_each;
        std::int64_t const number = (begin + each.begin) % of_each / most;
        std::int64_t const first = owner * of_each + number * most;
        std::int64_t const words = std::min(most, of_each - number * most);
        chunk const here{each.begin, std::min(each.end, first + words - begin), each.view};
        runs[static_cast<std::size_t>(number * own_.members + owner)].push_back(
            {here, owner * words + begin - first, static_cast<std::int32_t>(owner)});
        each.begin = here.end;
      }
    }

    std::vector<staged_chunk> staged;
    std::vector<std::pair<round, std::vector<share>>> cut;
    auto run = runs.begin();
    for (std::int64_t first = 0; first < of_each; first += most) {
      std::int64_t const words = std::min(most, of_each - first);
      std::vector<chunk> here;
      auto const from = static_cast<std::int64_t>(staged.size());
      for (int owner = 0; owner < own_.members; ++owner, ++run) {
        for (staged_chunk const& each : *run) here.push_back(each.part);
        staged.insert(staged.end(), run->begin(), run->end());
      }
      std::vector<share> shares = cut_into_shares(here, runs_on_host_v<Exec> ? exec.concurrency() : 1);
      for (share& each : shares) each.begin += from, each.end += from;
      cut.push_back({{chunks_.size(), first, words, {nullptr, nullptr, std::ssize(here), std::ssize(shares), from}},
                     std::move(shares)});
    }
    for (auto& [each, shares] : cut) {
      shares_.emplace_back(exec, "accrue::reduce::shares", std::move(shares));
      each.list.shares = shares_.back().data();
      rounds_.push_back(each);
    }
    chunks_.emplace_back(exec, "accrue::reduce::chunks", std::move(staged));
    return most;
  }
  template <class Block>
  [[nodiscard]] static std::vector<chunk> block_chunks(Block const& block) {
    std::vector<chunk> all;
    for (std::size_t c = 0; c < block.chunks.size(); ++c) all.push_back(block.chunks[c]);
    return all;
  }

  shard own_;
  std::vector<round> rounds_;
  std::vector<device_table<share, Exec>> shares_;
  std::vector<device_table<staged_chunk, Exec>> chunks_;  ///< of each block
  device_array<double, Exec> staged_;
  device_array<double, Exec> received_;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_SUM_EXCHANGE_HPP
#define ACCRUE_PASSES_SUM_EXCHANGE_HPP

#include <accrue/core/diagnostics.hpp>
#include <accrue/passes/exchange_sums.hpp>
#include <accrue/passes/piece_sums.hpp>
#include <accrue/passes/pieces.hpp>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace accrue {

/// Makes the sums of several replicas one: those of this process among each other, then those of the members of a
/// transport; every replica has the whole sum then.
///
/// Cost: where the summation carries something for each sum, room for what is exchanged, allocated at construction: 8
/// bytes for a float under `compensated`, 1 byte under `order_independent`.
template <class Exec, class Summation, class Model>
class sum_exchange {
  template <class Block>
  static constexpr exchange_of_sums kind = exchange_for<Summation, typename Block::buffer_scalar>();
  template <class Block>
  static constexpr std::int64_t parts = is_complex_v<typename Block::buffer_scalar> ? 2 : 1;

 public:
  sum_exchange(Exec const& exec, Model& model) : pieces_(exec, model, piece_bytes) {
    model.for_each_block({}, [&]<class Block>(Block& each, auto const&...) {
      static_assert(kind<Block> != exchange_of_sums::none, ACCRUE_SAY_NOT_EXCHANGED);
      auto const numbers = static_cast<std::size_t>(each.words_apart * parts<Block>);
      wide_.emplace_back(exec, "accrue::reduce::wide", kind<Block> == exchange_of_sums::in_double ? numbers : 0);
      bins_.emplace_back(exec, "accrue::reduce::bins", kind<Block> == exchange_of_sums::by_bins ? numbers : 0);
    });
  }

  /// A replica of this process.
  struct hosted {
    Exec exec;
    Model* model;
    sum_exchange* room;
    double factor;  ///< what its sums are multiplied by
  };

  /// Order: after what was launched on the instances of all of them; returns when the sums are there.
  template <class Transport>
  static void run(Transport const& transport, std::vector<hosted> const& all) {
    hosted const& first = all.front();
    std::size_t number = 0;
    first.model->for_each_block({}, [&]<class Block>(Block& own, auto const&...) {
      if constexpr (kind<Block> != exchange_of_sums::none)
        if (own.words_apart > 0) run_block(transport, all, own, number);
      ++number;
    });
  }

  /// The same for one replica, piece by piece: `add(piece)` forms the sums of one, and `measure(piece)` is called when
  /// its whole sum is there, while others are on their way.
  template <class Transport, class Add, class Measure>
  static void run_overlapped(Transport const& transport, hosted const& replica, Add const& add,
                             Measure const& measure) {
    auto const sum = [&](piece const& each) { sum_piece(transport, replica, each); };
    int const threads = runs_on_host_v<Exec> ? replica.exec.concurrency() : 1;
    if (transport.sends_on_a_thread(threads))
      sum_on_a_thread(replica.room->pieces_.all(), add, sum, measure);
    else
      sum_in_turn(replica.room->pieces_.all(), add, sum, measure);
  }
  [[nodiscard]] std::vector<piece> const& pieces() const { return pieces_.all(); }

 private:
  static constexpr std::int64_t piece_bytes = std::int64_t{4} << 20;

  /// Sums one piece of a buffer over the members.
  template <class Transport>
  static void sum_piece(Transport const& transport, hosted const& replica, piece const& only) {
    std::size_t number = 0;
    replica.model->for_each_block({}, [&]<class Block>(Block& each, auto const&...) {
      if (number++ != only.block) return;
      using real = real_t<typename Block::buffer_scalar>;
      transport.sum(replica.exec, reinterpret_cast<real*>(each.arena.data() + only.first_word),
                    only.words * parts<Block>);
    });
  }

  template <class Block>
  [[nodiscard]] static auto const& block_of(hosted const& replica, Block const&) {
    return replica.model->storage().template block_of<typename Block::parameter_scalar>();
  }

  template <class Block, class What>
  static void on_each_sum(char const* label, hosted const& replica, Block const& block, What const& what) {
    using B = typename Block::buffer_scalar;
    std::uint8_t const* const touched = replica.model->touched(replica.exec) + block.first_view;
    for_each_chunk(label, replica.exec, block.list(), each_sum_chunk<B, What>{block.chunks.data(), touched, what});
  }

  /// The words that are summed: as many `Real`, from here on.
  template <class Real>
  struct words {
    Real* first;
    std::int64_t count;
  };
  template <class Block>
  [[nodiscard]] static auto summed_words(hosted const& replica, Block const& block, std::size_t number) {
    using B = typename Block::buffer_scalar;
    std::int64_t const numbers = block.words_apart * parts<Block>;
    if constexpr (kind<Block> == exchange_of_sums::plain) {
      return words<real_t<B>>{reinterpret_cast<real_t<B>*>(block.arena.data()), numbers};
    } else if constexpr (kind<Block> == exchange_of_sums::in_double) {
      return words<double>{replica.room->wide_[number].data(), numbers};
    } else {
      return words<double>{block.beside.data(), numbers * carry_of<Summation, B>::words};
    }
  }

  template <class Transport, class Block>
  static void run_block(Transport const& transport, std::vector<hosted> const& all, Block& own, std::size_t number) {
    hosted const& first = all.front();
    if constexpr (kind<Block> == exchange_of_sums::by_bins) agree_on_bins(transport, all, own, number);
    for (hosted const& each : all) lay_out(each, block_of(each, own), number);
    wait_for(all);
    auto const whole = summed_words(first, block_of(first, own), number);
    for (hosted const& each : all) {
      if (each.model == first.model) continue;
      add(first.exec, whole, summed_words(each, block_of(each, own), number));
    }
    if constexpr (kind<Block> == exchange_of_sums::plain) {
      for (piece const& each : first.room->pieces_.all())
        if (each.block == number) sum_piece(transport, first, each);
    } else {
      transport.sum(first.exec, whole.first, whole.count);
    }
    for (hosted const& each : all)
      if (each.model != first.model) copy(first.exec, whole, summed_words(each, block_of(each, own), number));
    if (all.size() > 1) first.exec.fence("accrue::reduce: the sum is there");
    for (hosted const& each : all) take_over(each, block_of(each, own), number);
  }

  /// Makes of the sums the words that are summed.
  template <class Block>
  static void lay_out(hosted const& replica, Block const& block, std::size_t number) {
    using B = typename Block::buffer_scalar;
    static_cast<void>(replica.model->touched(replica.exec));  // sends the tables: where they lie is known after that
    auto const& tables = replica.model->tables();
    if constexpr (kind<Block> == exchange_of_sums::plain) {
      if (replica.model->gated_touch() == nullptr && tables.at_home() && replica.factor == 1.0) return;
      on_each_sum("accrue::reduce::bring_home", replica, block,
                  bring_home<B>{tables.sums() + block.first_view, tables.touched().keeps() + block.first_view,
                                block.placements.data(), block.arena.data(), replica.factor});
    } else {
      using carry = carry_of<Summation, B>;
      carried_numbers<B, carry> const numbers{block.arena.data(), block.template carried<carry>()};
      if constexpr (kind<Block> == exchange_of_sums::in_double)
        on_each_sum("accrue::reduce::in_double", replica, block,
                    in_double<B, carry>{numbers, replica.room->wide_[number].data(), replica.factor});
      else
        on_each_sum("accrue::reduce::take_off_anchors", replica, block,
                    move_anchors<B, carry, false>{numbers, replica.room->bins_[number].data()});
    }
  }
  /// And back.
  template <class Block>
  static void take_over(hosted const& replica, Block const& block, std::size_t number) {
    if constexpr (kind<Block> != exchange_of_sums::plain) {
      using B = typename Block::buffer_scalar;
      using carry = carry_of<Summation, B>;
      carried_numbers<B, carry> const numbers{block.arena.data(), block.template carried<carry>()};
      if constexpr (kind<Block> == exchange_of_sums::in_double)
        on_each_sum("accrue::reduce::out_of_double", replica, block,
                    out_of_double<B, carry>{numbers, replica.room->wide_[number].data()});
      else
        on_each_sum("accrue::reduce::put_on_anchors", replica, block,
                    move_anchors<B, carry, true>{numbers, replica.room->bins_[number].data()});
    }
  }

  template <class Transport, class Block>
  static void agree_on_bins(Transport const& transport, std::vector<hosted> const& all, Block& own,
                            std::size_t number) {
    using B = typename Block::buffer_scalar;
    using carry = carry_of<Summation, B>;
    hosted const& first = all.front();
    auto const bins = [&](hosted const& each) {
      auto& room = each.room->bins_[number];
      return words<std::uint8_t>{room.data(), static_cast<std::int64_t>(room.size())};
    };
    for (hosted const& each : all) {
      Block const& block = block_of(each, own);
      carried_numbers<B, carry> const numbers{block.arena.data(), block.template carried<carry>()};
      // Where nothing is laid out, between views, nothing is written: the room begins at zero.
      on_each_sum("accrue::reduce::name_bins", each, block, name_bins<B, carry>{numbers, bins(each).first});
    }
    wait_for(all);
    for (hosted const& each : all)
      if (each.model != first.model)
        Kokkos::parallel_for("accrue::reduce::largest", range(first.exec, bins(first).count),
                             keep_larger{bins(first).first, bins(each).first});
    transport.largest(first.exec, bins(first).first, bins(first).count);
    for (hosted const& each : all)
      if (each.model != first.model) copy(first.exec, bins(first), bins(each));
    if (all.size() > 1) first.exec.fence("accrue::reduce: the bins are agreed on");
  }

  [[nodiscard]] static auto range(Exec const& exec, std::int64_t count) {
    return Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, count);
  }
  template <class Real>
  static void add(Exec const& exec, words<Real> const& to, words<Real> const& from) {
    Kokkos::parallel_for("accrue::reduce::add", range(exec, to.count), add_words<Real>{to.first, from.first});
  }
  template <class Real>
  static void copy(Exec const& exec, words<Real> const& from, words<Real> const& to) {
    using view = Kokkos::View<Real*, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    Kokkos::deep_copy(exec, view(to.first, static_cast<std::size_t>(to.count)),
                      view(from.first, static_cast<std::size_t>(from.count)));
  }
  static void wait_for(std::vector<hosted> const& all) {
    if (all.size() == 1) return;
    for (hosted const& each : all) each.exec.fence("accrue::reduce: the sums of each replica are there");
  }

  pieces_of_model<Exec> pieces_;
  std::vector<device_array<double, Exec>> wide_;
  std::vector<device_array<std::uint8_t, Exec>> bins_;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_REDUCE_OVERLAPPED_HPP
#define ACCRUE_REDUCE_OVERLAPPED_HPP

#include <accrue/core/diagnostics.hpp>
#include <accrue/core/own_cores.hpp>
#include <accrue/core/replica_transport.hpp>
#include <accrue/reduce/transport_over.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

namespace accrue {

/// Who makes the calls of a transport while microbatches are added.
enum class sender {
  where_a_core_is_free,  ///< a thread, if there is a core for it beside those that add, of all members here; else in
                         ///< turn
  on_a_thread,
  in_turn,  ///< this thread: a piece is added, summed and measured while it is still in the caches
};

/// Sums go over in pieces of the buffer: while one is on its way, the last microbatch is added to the next, and the
/// norm of those that have arrived is formed.
///
/// Order: the gradients of the last microbatch must stay as they are until `update()`. Guarantee: the bits of the
/// transport without it. Cost: a thread that makes the calls of the transport, or none, see `sender`; where a replica
/// left parameters out, or its sums lie elsewhere, sums go over at the end, as without it. Needs one replica a process,
/// `widened` sums, and neither named terms, nor `running`, nor a clip or a look at each microbatch; with MPI at least
/// MPI_THREAD_SERIALIZED. Example: `accrue::overlapped{accrue::mpi_replicas<>()}`
template <replica_transport Transport>
class overlapped : public transport_over<Transport> {
  using base = transport_over<Transport>;
  static_assert(!shards_v<Transport> && !has_partners<Transport> && !is_in_process_v<Transport>,
                ACCRUE_SAY_OVERLAPPED_OVER);

 public:
  static constexpr std::string_view name = "overlapped";
  static constexpr bool overlaps = true;

  explicit overlapped(Transport transport, sender by = sender::where_a_core_is_free)
      : base(std::move(transport)), by_(by) {
    if constexpr (requires { this->below().require_threads(); })
      if (by != sender::in_turn) this->below().require_threads();
  }

  template <class Visit>
  void settings(Visit&& visit) const {
    visit("transport", this->below());
  }

  /// Whether a thread sends while `threads` of this process add.
  [[nodiscard]] bool sends_on_a_thread(int threads) const {
    if (by_ != sender::where_a_core_is_free) return by_ == sender::on_a_thread;
    own_cores const cores = own_cores::of_this_process();
    std::int64_t sharers = 1;
    if constexpr (requires { this->below().members_here(); })
      if (cores.all_of_machine) sharers = this->below().members_here();
    return sharers * (threads + 1) <= cores.count;
  }

  friend bool operator==(overlapped const&, overlapped const&) = default;

 private:
  sender by_;
};

}  // namespace accrue
#endif

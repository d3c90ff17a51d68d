// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_REDUCE_SHARDED_HPP
#define ACCRUE_REDUCE_SHARDED_HPP

#include <accrue/core/replica_transport.hpp>
#include <accrue/reduce/transport_over.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace accrue {

/// Each of D members keeps a D-th of the buffer and of the optimizer's state, and makes a D-th of the update: every
/// microbatch is summed over the members into the part of each, and parameters are gathered after the update. What
/// others call ZeRO stage 2 (Rajbhandari et al. 2020).
///
/// Order: one replica a process, and every one calls `accumulate` for its microbatches and `update` or `end_of_data`
/// for each group, in any numbers: who closes early goes on adding nothing until all close. A call of `accumulate`
/// waits for the others. Guarantee: the parameters are equal bit by bit on all members; those of the mode without it
/// within rounding, for sums are formed in another order. Cost: per microbatch one gather of 58 bytes and the sum of
/// all gradients, of which each gets its part; per group four gathers, of some 700 bytes together, and one of the
/// parameters. Memory: the buffer and state over D, and pieces of 4 MiB. Failure: `accrue::error` where replicas do not
/// agree, at the first microbatch at which they do not. Needs `widened` sums, whole gradients that arrive local, and
/// neither named terms, nor `running`, `gather`, a clip or a look at each microbatch or replica, nor a rule on the
/// host. `save` is called on all, or `take_part_in_save`; its file is whole, for any number of members. Example:
/// `accrue::sharded{accrue::mpi_replicas<>()}`
template <sharding_transport Transport>
class sharded : public transport_over<Transport> {
  using base = transport_over<Transport>;

 public:
  static constexpr std::string_view name = "sharded";
  static constexpr bool shards = true;

  explicit sharded(Transport transport) : base(std::move(transport)) {}

  template <class Visit>
  void settings(Visit&& visit) const {
    visit("transport", this->below());
  }

  template <class Exec, class Real>
  void sum_parts(Exec const& exec, Real const* all, Real* mine, std::int64_t count) const {
    this->below().sum_parts(exec, all, mine, count);
  }
  template <class Exec>
  void gather_parts(Exec const& exec, std::byte* all, std::int64_t bytes) const {
    this->below().gather_parts(exec, all, bytes);
  }

  friend bool operator==(sharded const&, sharded const&) = default;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_REDUCE_MODEL_PARALLEL_HPP
#define ACCRUE_REDUCE_MODEL_PARALLEL_HPP

#include <accrue/core/replica_transport.hpp>
#include <accrue/core/slots.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace accrue {

/// Each replica is several processes, of which each holds a part of the parameters: partners in tensor or pipeline
/// parallelism, or in sharded parameters. They share norm, finite check, veto and decision.
///
/// `replicas` brings together the processes that hold the same part, `partners` those of one replica: sums go over the
/// first alone. What partners hold in common, such as the biases of tensor parallelism, is named `held_in_common` among
/// the parameters, so that it counts once in the norm. Order: partners close the same groups, and hand over the same
/// counts. Guarantee: the norm is that of the whole model, its parts being added in the order of the partners. Cost:
/// two small gathers among partners a group. Failure: as of the two. Example:
/// `accrue::model_parallel{accrue::mpi_replicas<>(data_comm), accrue::mpi_replicas<>(tensor_comm)}`
template <replica_transport Replicas, replica_transport Partners>
  requires(!shards_v<Replicas> && !shards_v<Partners>)
class model_parallel {
 public:
  using fills = slot::replicas;
  using arrival = typename Replicas::arrival;
  static constexpr std::string_view name = "model_parallel";
  static constexpr bool alone = false;
  static constexpr bool in_process = is_in_process_v<Replicas>;

  model_parallel(Replicas replicas, Partners partners)
      : replicas_(std::move(replicas)), partners_(std::move(partners)) {}

  template <class Visit>
  void settings(Visit&& visit) const {
    visit("replicas", replicas_);
    visit("partners", partners_);
  }

  [[nodiscard]] Partners const& partners() const { return partners_; }

  [[nodiscard]] int members() const { return replicas_.members(); }
  [[nodiscard]] int member() const { return replicas_.member(); }
  void gather(std::byte const* mine, std::size_t bytes, std::byte* all) const { replicas_.gather(mine, bytes, all); }
  template <class Exec, class Real>
  void sum(Exec const& exec, Real* first, std::int64_t count) const {
    replicas_.sum(exec, first, count);
  }
  template <class Exec>
  void largest(Exec const& exec, std::uint8_t* first, std::int64_t count) const {
    replicas_.largest(exec, first, count);
  }

  friend bool operator==(model_parallel const&, model_parallel const&) = default;

 private:
  Replicas replicas_;
  Partners partners_;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_REDUCE_MODEL_PARALLEL_HPP
#define ACCRUE_REDUCE_MODEL_PARALLEL_HPP

#include <accrue/core/diagnostics.hpp>
#include <accrue/core/replica_transport.hpp>
#include <accrue/reduce/transport_over.hpp>

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
class model_parallel : public transport_over<Replicas> {
  using base = transport_over<Replicas>;
  static_assert(!shards_v<Replicas> && !shards_v<Partners> && !overlaps_v<Replicas> && !overlaps_v<Partners>,
                ACCRUE_SAY_PARTNERS_OVER);

 public:
  static constexpr std::string_view name = "model_parallel";
  static constexpr bool in_process = is_in_process_v<Replicas>;

  model_parallel(Replicas replicas, Partners partners) : base(std::move(replicas)), partners_(std::move(partners)) {}

  template <class Visit>
  void settings(Visit&& visit) const {
    visit("replicas", this->below());
    visit("partners", partners_);
  }

  [[nodiscard]] Partners const& partners() const { return partners_; }

  friend bool operator==(model_parallel const&, model_parallel const&) = default;

 private:
  Partners partners_;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_REPLICA_SIDE_HPP
#define ACCRUE_REPLICA_SIDE_HPP

#include <accrue/core/checksum.hpp>
#include <accrue/core/device_array.hpp>
#include <accrue/core/replica_transport.hpp>
#include <accrue/core/shard.hpp>
#include <accrue/passes/shape_check.hpp>
#include <accrue/passes/shard_exchange.hpp>
#include <accrue/passes/sum_exchange.hpp>
#include <accrue/pipeline.hpp>
#include <accrue/recipe_text.hpp>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace accrue {

/// What an accumulator needs for other replicas: room for the exchange, and checksums of what must be the same on all.
template <class Exec, class Model, class Recipe>
class replica_side<Exec, Model, Recipe, false> {
  using summation = typename Recipe::summation_type;
  using replicas = typename Recipe::replicas_type;
  struct no_exchange {
    no_exchange(Exec const&, Model&) {}
  };

 public:
  using exchange_type = std::conditional_t<
      arrives_reduced_v<replicas>, no_exchange,
      std::conditional_t<shards_v<replicas>, shard_exchange<Exec, Model>, sum_exchange<Exec, summation, Model>>>;

  replica_side(Exec const& exec, Model& model, replicas const& others)
      : exchange_(exchange_for(exec, model, others)), shapes_(sum_of(shape_texts(model))) {
    if constexpr (has_partners<replicas>) counted_ = {exec, "accrue::reduce::counted", model.directory().size()};
    if constexpr (overlaps_v<replicas>) {
      std::vector<std::uint8_t> const all(model.directory().size(), 1);
      counted_ = {exec, "accrue::reduce::counted", all.size()};
      counted_.write(exec, all.data());
      exec.fence("accrue::reduce: write what is counted");
    }
  }

  [[nodiscard]] exchange_type& exchange() { return exchange_; }
  /// For each view of the model whether it counts in this partner's part of the norm.
  [[nodiscard]] device_array<std::uint8_t, Exec>& counted() { return counted_; }
  [[nodiscard]] std::int64_t shapes() const { return shapes_; }
  [[nodiscard]] static std::int64_t recipe(Recipe const& policies) { return sum_of(policy_texts(policies)); }

 private:
  [[nodiscard]] static exchange_type exchange_for(Exec const& exec, Model& model,
                                                  [[maybe_unused]] replicas const& others) {
    if constexpr (shards_v<replicas>)
      return exchange_type(exec, model, shard{others.member(), others.members()});
    else
      return exchange_type(exec, model);
  }
  [[nodiscard]] static std::int64_t sum_of(std::vector<std::string> const& texts) {
    checksum sum;
    for (std::string const& each : texts)
      sum.add(reinterpret_cast<unsigned char const*>(each.c_str()), each.size() + 1);
    return static_cast<std::int64_t>(sum.value());
  }

  exchange_type exchange_;
  std::int64_t shapes_;
  device_array<std::uint8_t, Exec> counted_;
};

}  // namespace accrue
#endif

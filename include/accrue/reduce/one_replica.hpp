// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_REDUCE_ONE_REPLICA_HPP
#define ACCRUE_REDUCE_ONE_REPLICA_HPP

#include <accrue/core/replica_transport.hpp>
#include <accrue/core/slots.hpp>

#include <string_view>

namespace accrue {

/// This process holds the only replica: its sums are the group's. The default.
struct one_replica {
  using fills = slot::replicas;
  using arrival = local_gradients;
  static constexpr std::string_view name = "one_replica";
  static constexpr bool alone = true;
  friend bool operator==(one_replica const&, one_replica const&) = default;
};

static_assert(replicas_policy<one_replica>);

}  // namespace accrue
#endif

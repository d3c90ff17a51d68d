// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_REDUCE_ONE_REPLICA_HPP
#define ACCRUE_REDUCE_ONE_REPLICA_HPP

#include <accrue/core/slots.hpp>

#include <string_view>

namespace accrue {

/// This process holds the only replica: its sums are the group's. The default.
struct one_replica {
  using fills = slot::replicas;
  static constexpr std::string_view name = "one_replica";
  friend bool operator==(one_replica const&, one_replica const&) = default;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_REDUCE_ONE_REPLICA_HPP
#define ACCRUE_REDUCE_ONE_REPLICA_HPP

#include <accrue/core/slots.hpp>

#include <cstdint>
#include <string_view>

namespace accrue {

/// This process holds the only replica: its sums are the group's. The default.
struct one_replica {
  using fills = slot::replicas;
  static constexpr std::string_view name = "one_replica";
  [[nodiscard]] static constexpr std::int64_t size() { return 1; }
  friend bool operator==(one_replica const&, one_replica const&) = default;
};

}  // namespace accrue
#endif

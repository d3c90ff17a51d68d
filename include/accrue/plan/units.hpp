// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_UNITS_HPP
#define ACCRUE_PLAN_UNITS_HPP

#include <accrue/core/units.hpp>

#include <string_view>

namespace accrue::plan {

namespace unit {
struct replicas {
  static constexpr std::string_view name = "replicas";
};
struct ranks {
  static constexpr std::string_view name = "ranks";
};
struct length {
  static constexpr std::string_view name = "positions per sample";
};
struct passes {
  static constexpr std::string_view name = "passes";
};
}  // namespace unit

using replicas = count<unit::replicas>;  ///< data-parallel participants
using ranks = count<unit::ranks>;        ///< devices or processes, whatever they share of a replica
using length = count<unit::length>;      ///< positions of every sample, padding included
using passes = count<unit::passes>;      ///< times through the data; others say epochs

}  // namespace accrue::plan
#endif

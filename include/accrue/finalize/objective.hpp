// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_OBJECTIVE_HPP
#define ACCRUE_FINALIZE_OBJECTIVE_HPP

#include <accrue/core/slots.hpp>

#include <concepts>
#include <string_view>

namespace accrue {

/// What a policy for the slot objective offers: the divisor of a group of total weight N, and the weight of a
/// microbatch's own gradient, which is its mean where `own_is_mean`, else its sum.
template <class Policy>
concept objective_policy = fills_slot<Policy, slot::objective> && requires(double total) {
  { Policy::own_is_mean } -> std::convertible_to<bool>;
  { Policy::divisor(total) } -> std::convertible_to<double>;
};

/// G = S / N: the update of one large batch whose loss is a mean. The default.
struct mean_objective {
  using fills = slot::objective;
  static constexpr std::string_view name = "mean_objective";
  static constexpr bool own_is_mean = true;
  [[nodiscard]] static constexpr double divisor(double total_weight) { return total_weight; }
  friend bool operator==(mean_objective const&, mean_objective const&) = default;
};

/// G = S: the update of one large batch whose loss is a sum. A `sum_gradient` needs no count and is always added.
struct sum_objective {
  using fills = slot::objective;
  static constexpr std::string_view name = "sum_objective";
  static constexpr bool own_is_mean = false;
  [[nodiscard]] static constexpr double divisor(double) { return 1.0; }
  friend bool operator==(sum_objective const&, sum_objective const&) = default;
};

static_assert(objective_policy<mean_objective> && objective_policy<sum_objective>);

}  // namespace accrue
#endif

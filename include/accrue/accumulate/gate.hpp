// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATE_GATE_HPP
#define ACCRUE_ACCUMULATE_GATE_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/facts.hpp>
#include <accrue/core/norm.hpp>

#include <Kokkos_Core.hpp>

namespace accrue {

/// How a microbatch enters the sum, as numbers: its own gradient is `to_own * g`, and weighs `weight` in the group.
/// What `to_own` divides by is `own_divisor`, for what has to be divided to the last bit.
///
/// For the mean objective the own gradient is the microbatch's mean and the weight its count; for the sum objective it
/// is the microbatch's sum and the weight 1. Without clipping only the product is used, formed exactly as w_i.
struct microbatch_weight {
  double to_own = 1.0;
  double own_divisor = 1.0;
  double weight = 1.0;
  double product = 1.0;

  /// The same in a group whose sums are divided by `divisor` already.
  [[nodiscard]] microbatch_weight over(double divisor) const {
    return {to_own, own_divisor, weight / divisor, product / divisor};
  }
};

/// The norm of a microbatch's own gradient, without the loss scale; `total` is that of the gradient as it was handed
/// over, and a null `loss_scale` stands for 1.
[[nodiscard]] KOKKOS_INLINE_FUNCTION double own_norm(microbatch_weight const& by, norm_order order,
                                                     norm_partial const& total, float const* loss_scale) {
  double const to_own = by.own_divisor == 1.0 ? by.to_own : 1.0;
  double const scale = loss_scale == nullptr ? 1.0 : static_cast<double>(*loss_scale);
  return norm_of(order, total, by.own_divisor * scale) * to_own;
}

/// What the gate says of a microbatch before anything is launched.
template <class Count>
struct admission {
  Count count{};         ///< c_i
  bool ignored = false;  ///< declared count 0: its gradient and loss are not looked at, even where they are NaN
  microbatch_weight by;
};

/// Admits a microbatch: w_i = 1 for a sum, c_i for a mean; a declared count of 0 is ignored, except that a sum is
/// always added under the sum objective, and where it arrives `Reduced` over replicas: others count in it.
///
/// Failure: a count that is negative or NaN, from a user's normalization, is `accrue::error`.
template <class Normalization, class Objective, bool Reduced = false>
[[nodiscard]] auto admit(microbatch_facts const& facts, bool is_mean) {
  admission<typename Normalization::count_type> answer;
  answer.count = Normalization::count(facts);
  if (!(answer.count >= 0))
    throw error("accrue: the normalization counts less than nothing in a microbatch",
                "the group's weight would be wrong", "check the count of the normalization policy");
  bool const always_added = (!Objective::own_is_mean || Reduced) && !is_mean;
  answer.ignored = answer.count == 0 && !always_added;
  if (answer.ignored) return answer;

  double const count = static_cast<double>(answer.count);
  answer.by.product = is_mean ? count : 1.0;
  if constexpr (Objective::own_is_mean) {
    answer.by.own_divisor = is_mean ? 1.0 : count;
    answer.by.to_own = 1.0 / answer.by.own_divisor;
    answer.by.weight = count;
  } else {
    answer.by.to_own = answer.by.product;
  }
  return answer;
}

}  // namespace accrue
#endif

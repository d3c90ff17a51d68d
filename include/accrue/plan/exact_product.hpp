// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_EXACT_PRODUCT_HPP
#define ACCRUE_PLAN_EXACT_PRODUCT_HPP

#include <accrue/plan/planned.hpp>

#include <cstdint>
#include <initializer_list>
#include <limits>

namespace accrue::plan {

/// The product of numbers that are at least 0, as a `Count`: exact, or refused as `too_large`.
///
/// Order: from left to right, so a 0 saves only what follows it.
template <class Count>
[[nodiscard]] constexpr planned<Count> exact_product(std::initializer_list<std::int64_t> factors) noexcept {
  std::int64_t product = 1;
  for (std::int64_t factor : factors) {
    if (factor != 0 && product > std::numeric_limits<std::int64_t>::max() / factor) return refusal::too_large;
    product *= factor;
  }
  return Count{product};
}

}  // namespace accrue::plan
#endif

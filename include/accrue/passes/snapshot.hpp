// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_SNAPSHOT_HPP
#define ACCRUE_PASSES_SNAPSHOT_HPP

#include <accrue/core/scalar.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace accrue {

/// copy = sum / divisor, zero where nothing was summed.
template <class B> struct copy_quotient {
  B const* sum;
  B* copy;
  double divisor;
  bool touched;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    copy[i] = touched ? B(sum[i] / static_cast<real_t<B>>(divisor)) : B{};
  }
};

}  // namespace accrue
#endif

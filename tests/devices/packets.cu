// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An accumulator whose kernels load and store 16 bytes at once. Compiled to PTX, which packets.cmake reads.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>

namespace devices {

template <class T>
using view = Kokkos::View<T*, Kokkos::DefaultExecutionSpace>;

void narrow_and_plain(view<float> const& a, view<float> const& b, view<accrue::bfloat16> const& of_b) {
  accrue::accumulator group(accrue::parameters(a, b), accrue::per_token{}, accrue::clip_by_global_norm{},
                            accrue::adamw{});
  group.accumulate(accrue::mean_gradient{a, of_b}, accrue::tokens{1});
  static_cast<void>(group.update());
}

}  // namespace devices

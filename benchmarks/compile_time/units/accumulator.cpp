// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>

/// A group as many programs will have it: three views, a clip by norm, AdamW.
void one_group(Kokkos::View<float**> const& w, Kokkos::View<float*> const& b, Kokkos::View<float*> const& c) {
  accrue::accumulator group(accrue::parameters(w, b, c), accrue::per_token{}, accrue::every{8},
                            accrue::clip_by_global_norm{.max_norm = 1.0}, accrue::adamw{});
  for (int i = 0; i < 8; ++i) group.accumulate(accrue::mean_gradient{w, b, c}, accrue::tokens{512});
  group.update();
}

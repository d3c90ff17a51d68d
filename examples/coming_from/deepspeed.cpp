// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A DeepSpeed engine in float16, converted: its loss scale, its hysteresis, its clip, two microbatches a group.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <iostream>

using halves = Kokkos::View<accrue::float16*>;
using vector = Kokkos::View<float*>;

/// Stands for a backward pass in 16 bits: the gradient is 3, times the scale of the loss.
void backward(halves const& /*weights*/, Kokkos::View<float const> const& scale, halves const& gradient) {
  Kokkos::parallel_for(
      "backward", 1, KOKKOS_LAMBDA(int) { gradient(0) = accrue::float16(3.0f * scale()); });
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  vector const weights("weights", 1);
  halves const copy("copy", 1), gradient("gradient", 1);

  accrue::accumulator group(accrue::parameters(accrue::master_weights{weights, copy}), accrue::per_sample{},
                            accrue::every{2}, accrue::carry_last{}, accrue::dynamic_scale::deepspeed(),
                            accrue::clip_by_global_norm{.max_norm = 1.0}, accrue::sgd{.learning_rate = 1.0});

  for (int microbatch = 0; microbatch < 40; ++microbatch) {
    backward(copy, group.loss_scale().view(), gradient);
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{4});
    if (group.full()) group.update();
  }
  group.end_of_data();

  accrue::ledger const& book = group.ledger();
  float const scale = group.loss_scale().value();
  float const learned = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, weights)(0);
  std::cout << book << "\nscale " << scale << ", weight " << learned << '\n';
  // float16 ends at 65504: 3 * 2^16 and 3 * 2^15 are too much. The first overflow is tolerated, the next two halve the
  // scale, and the 17 groups that are left move by 1 each.
  return book.skipped() == accrue::updates{3} && scale == 0x1p14f && learned == -17 ? 0 : 1;
}

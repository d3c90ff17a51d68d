// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Megatron-LM iteration with a loss per token, converted: sums of unequal numbers of tokens, one division.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <iostream>

using vector = Kokkos::View<float*>;

struct microbatch {
  int tokens;    // that the loss mask lets through
  float target;  // of each of them
};
constexpr microbatch data[] = {{96, 2.0f}, {32, 10.0f}, {64, 4.0f}, {64, 1.0f}};

/// Half the squared distance from the target, summed over the tokens: its gradient.
void backward(vector const& theta, microbatch const& batch, vector const& gradient) {
  Kokkos::parallel_for(
      "backward", 1,
      KOKKOS_LAMBDA(int) { gradient(0) = static_cast<float>(batch.tokens) * (theta(0) - batch.target); });
}

// --global-batch-size 8 --micro-batch-size 2, on one data-parallel rank
constexpr accrue::microbatches per_group =
    accrue::plan::microbatches_for(accrue::samples{8}, accrue::samples{2}).value();

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  vector const theta("theta", 1), gradient("gradient", 1);

  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::every{per_group},
                            accrue::drop_last{}, accrue::clip_by_global_norm{.max_norm = 10.0},
                            accrue::sgd{.learning_rate = 1.0});

  for (microbatch const& batch : data) {
    backward(theta, batch, gradient);
    group.accumulate(accrue::sum_gradient{gradient}, accrue::tokens{batch.tokens}, accrue::samples{2});
  }
  group.update();

  // (96 * 2 + 32 * 10 + 64 * 4 + 64 * 1) / 256; a mean of the four means is 4.25
  float const learned = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, theta)(0);
  std::cout << learned << '\n';
  return learned == 3.25f ? 0 : 1;
}

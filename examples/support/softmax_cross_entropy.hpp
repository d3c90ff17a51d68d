// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_SUPPORT_SOFTMAX_CROSS_ENTROPY_HPP
#define ACCRUE_EXAMPLES_SUPPORT_SOFTMAX_CROSS_ENTROPY_HPP

#include <Kokkos_Core.hpp>

#include "dense_layer.hpp"

namespace examples {

inline constexpr int ignored = -1;  // the target of a row that is not learned from

/// Returns the summed loss of the rows that have a target, and overwrites the logits with `scale` times its gradient.
///
/// Guarantee: an ignored row has loss 0 and gradient 0.
/// Cost: fences `exec`, because the loss comes back to the host.
inline double softmax_cross_entropy(execution const& exec, matrix const& logits, Kokkos::View<int const*> targets,
                                    float scale) {
  using team = Kokkos::TeamPolicy<execution>::member_type;
  int const rows = static_cast<int>(logits.extent(0));
  int const columns = static_cast<int>(logits.extent(1));
  double loss = 0;
  Kokkos::parallel_reduce(
      "examples::softmax_cross_entropy", Kokkos::TeamPolicy<execution>(exec, rows, Kokkos::AUTO),
      KOKKOS_LAMBDA(team const& member, double& total) {
        int const row = member.league_rank();
        int const target = targets(row);
        auto const all_columns = Kokkos::TeamVectorRange(member, columns);
        if (target == ignored) {
          Kokkos::parallel_for(all_columns, [&](int j) { logits(row, j) = 0; });
          return;
        }
        float highest = 0;
        Kokkos::parallel_reduce(
            all_columns, [&](int j, float& high) { high = Kokkos::max(high, logits(row, j)); },
            Kokkos::Max<float>(highest));
        float const at_target = logits(row, target) - highest;
        member.team_barrier();  // every thread has read the target's logit before it is overwritten
        float sum = 0;
        Kokkos::parallel_reduce(
            all_columns,
            [&](int j, float& partial) {
              float const exponential = Kokkos::exp(logits(row, j) - highest);
              logits(row, j) = exponential;
              partial += exponential;
            },
            sum);
        Kokkos::parallel_for(
            all_columns, [&](int j) { logits(row, j) = scale * (logits(row, j) / sum - (j == target ? 1.0f : 0.0f)); });
        Kokkos::single(Kokkos::PerTeam(member), [&] { total += Kokkos::log(sum) - at_target; });
      },
      loss);
  return loss;
}

/// How many rows have their highest logit at their target.
inline int correct_rows(execution const& exec, matrix const& logits, Kokkos::View<int const*> targets) {
  int correct = 0;
  Kokkos::parallel_reduce(
      "examples::correct_rows", Kokkos::RangePolicy<execution>(exec, 0, logits.extent(0)),
      KOKKOS_LAMBDA(int row, int& count) {
        int best = 0;
        for (int j = 1; j < static_cast<int>(logits.extent(1)); ++j)
          if (logits(row, j) > logits(row, best)) best = j;
        if (best == targets(row)) ++count;
      },
      correct);
  return correct;
}

}  // namespace examples
#endif

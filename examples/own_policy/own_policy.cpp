// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A clip and an update rule of your own: two small structs, given to the accumulator like any other policy.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <string_view>
#include <vector>

/// A bound that no gradient reaches: a norm of n becomes n / (1 + n / bound).
struct soft_clip {
  using fills = accrue::slot::clip;
  static constexpr std::string_view name = "soft_clip";
  static constexpr bool by_norm = true;

  double bound;

  double norm_order() const { return 2.0; }
  KOKKOS_FUNCTION double factor(double norm) const { return 1.0 / (1.0 + norm / bound); }
  template <class T>
  KOKKOS_FUNCTION T bounded(T const& element) const {
    return element;
  }
  template <class Visit>
  void settings(Visit&& visit) const {  // what is printed
    visit("bound", bound);
  }
};
static_assert(accrue::clip_policy<soft_clip>);

/// Lion, by Chen et al. (2023): goes by the sign of the gradient and of a running mean of the gradients.
struct lion {
  using fills = accrue::slot::update;
  static constexpr std::string_view name = "lion";

  double learning_rate = 1e-2;
  double beta1 = 0.9, beta2 = 0.99;

  template <class Real>
  struct rule {
    Real learning_rate, beta1, beta2;
    template <class T, class State>
    KOKKOS_FUNCTION void operator()(T& theta, T const& gradient, State const& mean) const {
      T const direction = beta1 * mean[0] + (1 - beta1) * gradient;
      theta -= direction > 0 ? learning_rate : direction < 0 ? -learning_rate : Real(0);
      mean[0] = beta2 * mean[0] + (1 - beta2) * gradient;
    }
  };
  int state_words() const { return 1; }
  template <class Real>
  KOKKOS_FUNCTION rule<Real> for_update(std::int64_t number) const {
    double const rate = learning_rate / std::sqrt(static_cast<double>(number));  // falls with the number of updates
    return {static_cast<Real>(rate), static_cast<Real>(beta1), static_cast<Real>(beta2)};
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("learning_rate", learning_rate);
    visit("beta1", beta1);
    visit("beta2", beta2);
  }
};
static_assert(accrue::update_policy<lion>);

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  Kokkos::View<double*> const theta("theta", 2), gradient("gradient", 2);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::every{2}, soft_clip{.bound = 1.0},
                            lion{.learning_rate = 0.25, .beta2 = 0.9});

  // Towards (1, -2), where half the squared distance has its minimum; a microbatch pulls a little too far or too near.
  for (int microbatch = 0; microbatch < 400; ++microbatch) {
    double const pull = microbatch % 2 == 0 ? 0.5 : 1.5;
    Kokkos::parallel_for(
        "backward", 1, KOKKOS_LAMBDA(int) {
          gradient(0) = pull * (theta(0) - 1);
          gradient(1) = pull * (theta(1) + 2);
        });
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{4});
    if (group.full()) group.update();
  }

  std::vector<accrue::record> const records = group.ledger().records();
  std::cout << "update    norm   clip factor\n" << std::fixed << std::setprecision(3);
  for (std::size_t const n : {0, 1, 9, 49, 199})
    std::cout << std::setw(6) << n + 1 << std::setw(8) << records[n].norm << std::setw(14) << records[n].clip_factor
              << '\n';
  auto const reached = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, theta);
  std::cout << "reached (" << reached(0) << ", " << reached(1) << ")\n" << group.policies() << '\n';
  bool const clipped = std::abs(records[0].clip_factor - 1 / (1 + std::sqrt(5.0))) < 1e-12;
  return clipped && std::abs(reached(0) - 1) < 0.05 && std::abs(reached(1) + 2) < 0.05 ? 0 : 1;
}

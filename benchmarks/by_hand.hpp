// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_BENCHMARKS_BY_HAND_HPP
#define ACCRUE_BENCHMARKS_BY_HAND_HPP

#include "support.hpp"

#include <cmath>

namespace bench {

/// Gradient accumulation as an experienced user writes it with Kokkos: a kernel for each tensor and each thing to do.
template <class View>
class by_hand {
 public:
  by_hand(shape const& s, std::vector<View> parameters)
      : theta_(std::move(parameters)), sum_(tensors<float>(s, 0)), m_(tensors<float>(s, 0)), v_(tensors<float>(s, 0)) {}

  void zero() {
    for (array const& sum : sum_) Kokkos::deep_copy(Kokkos::DefaultExecutionSpace{}, sum, 0.0f);
  }
  void add(std::vector<View> const& gradient, float weight) {
    for (std::size_t t = 0; t < sum_.size(); ++t) {
      array const sum = sum_[t];
      View const g = gradient[t];
      over(
          "add", sum, KOKKOS_LAMBDA(std::int64_t i) { sum(i) += weight * g(i); });
    }
  }
  void update(float weight, double max_norm) {
    double squares = 0.0;
    for (array const& sum : sum_) {
      double part = 0.0;
      Kokkos::parallel_reduce(
          "norm", policy(0, static_cast<std::int64_t>(sum.extent(0))),
          KOKKOS_LAMBDA(std::int64_t i, double& s) { s += static_cast<double>(sum(i)) * static_cast<double>(sum(i)); },
          part);
      squares += part;
    }
    double const norm = std::sqrt(squares) / static_cast<double>(weight);
    if (!std::isfinite(norm)) return;
    auto const factor = static_cast<float>((norm > max_norm ? max_norm / norm : 1.0) / static_cast<double>(weight));
    for (array const& sum : sum_)
      over(
          "scale", sum, KOKKOS_LAMBDA(std::int64_t i) { sum(i) *= factor; });

    ++updates_;
    auto const rate = static_cast<float>(1e-3 / (1.0 - std::pow(0.9, updates_)));
    auto const root = static_cast<float>(std::sqrt(1.0 - std::pow(0.999, updates_)));
    for (std::size_t t = 0; t < sum_.size(); ++t) {
      View const theta = theta_[t];
      array const g = sum_[t], m = m_[t], v = v_[t];
      over(
          "adamw", g, KOKKOS_LAMBDA(std::int64_t i) {
            float const gi = g(i);
            m(i) = 0.9f * m(i) + 0.1f * gi;
            v(i) = 0.999f * v(i) + 0.001f * gi * gi;
            theta(i) = (1.0f - 1e-5f) * theta(i) - rate * m(i) / (Kokkos::sqrt(v(i)) / root + 1e-8f);
          });
    }
  }

 private:
  using policy = Kokkos::RangePolicy<Kokkos::IndexType<std::int64_t>>;
  template <class Body>
  static void over(char const* label, array const& like, Body const& body) {
    Kokkos::parallel_for(label, policy(0, static_cast<std::int64_t>(like.extent(0))), body);
  }

  std::vector<View> theta_;
  std::vector<array> sum_, m_, v_;
  int updates_ = 0;
};

}  // namespace bench
#endif

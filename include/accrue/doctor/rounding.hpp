// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_ROUNDING_HPP
#define ACCRUE_DOCTOR_ROUNDING_HPP

#include <accrue/core/scalar.hpp>
#include <accrue/doctor/host_copy.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace accrue::doctor {

/// A vector that was computed from gradients, and how large the terms were that it is the sum of, tensor by tensor.
struct estimate {
  std::vector<double> values;
  std::vector<double> magnitude;
  double terms = 0;  ///< roundings beyond those of a plain sum: of a norm

  void add(double factor, std::vector<double> const& other, std::vector<double> const& other_magnitude) {
    values.resize(other.size(), 0.0);
    magnitude.resize(other_magnitude.size(), 0.0);
    for (std::size_t i = 0; i < other.size(); ++i) values[i] += factor * other[i];
    for (std::size_t t = 0; t < magnitude.size(); ++t) magnitude[t] += std::abs(factor) * other_magnitude[t];
  }
  void scale(double factor) {
    for (double& value : values) value *= factor;
    for (double& each : magnitude) each *= std::abs(factor);
  }
  [[nodiscard]] double norm() const {
    long double squares = 0;
    for (double const value : values) squares += static_cast<long double>(value) * value;
    return std::sqrt(static_cast<double>(squares));
  }
  /// Shortens it to a bound, as `clip_by_global_norm` does.
  void clip(double max_norm, double epsilon) {
    double const length = norm() + epsilon;
    if (!(length > max_norm)) return;
    scale(max_norm / length);
    terms = std::sqrt(static_cast<double>(values.size()));
  }
};

/// How far a gradient may be from what it should be, by rounding alone.
///
/// For each tensor gamma(n, u) M + s M + sqrt(n) u L, where gamma(n, u) = n u / (1 - n u) is the bound of a sum of n
/// terms in any order (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 4.2), u the unit
/// roundoff of the arithmetic, M the sum of the moduli of the terms, each taken at the tensor's largest element; s what
/// an element loses where it is stored. L is the largest M of all tensors: the backward pass of one tensor carries on
/// roundings of the others, which grow as the square root of n (Higham and Mary 2019). n are the positions and
/// microbatches that are summed and, for the sums inside a backward pass, the longest extents of all parameters.
struct rounding {
  double terms = 0;  ///< n
  double slack = 1;  ///< what the whole is multiplied by

  [[nodiscard]] std::vector<double> bounds(estimate const& expected, std::vector<tensor> const& tensors) const {
    double const n = terms + expected.terms;
    double largest = 0;
    for (double const each : expected.magnitude) largest = std::max(largest, each);
    std::vector<double> list;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      double const u = tensors[t].computed;
      double const gamma = n * u < 0.5 ? n * u / (1 - n * u) : 1.0;
      list.push_back(slack * ((gamma + 2 * tensors[t].stored) * expected.magnitude[t] + std::sqrt(n) * u * largest));
    }
    return list;
  }
};

/// Where two vectors are furthest apart, in bounds.
struct difference {
  double in_bounds = 0;  ///< above 1: more than rounding
  std::size_t tensor = 0;
  std::int64_t index = 0;  ///< in the tensor
  double seen = 0;
  double expected = 0;
  double bound = 0;

  [[nodiscard]] bool rounding_alone() const { return in_bounds <= 1; }
};

/// What is not finite on either side is no rounding. With `quick` the first element that differs ends it.
[[nodiscard]] inline difference compare(std::vector<double> const& seen, estimate const& expected,
                                        std::vector<tensor> const& tensors, rounding const& allowed,
                                        bool quick = false) {
  std::vector<double> const bounds = allowed.bounds(expected, tensors);
  difference worst;
  std::size_t at = 0;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    for (std::int64_t i = 0; i < tensors[t].size; ++i, ++at) {
      double const apart = std::abs(seen[at] - expected.values[at]);
      if (!is_finite(apart)) return {HUGE_VAL, t, i, seen[at], expected.values[at], bounds[t]};
      if (!(apart > bounds[t] * worst.in_bounds)) continue;
      double const ratio = bounds[t] > 0 ? apart / bounds[t] : HUGE_VAL;
      worst = {ratio, t, i, seen[at], expected.values[at], bounds[t]};
      if (quick && !worst.rounding_alone()) return worst;
    }
  }
  return worst;
}

}  // namespace accrue::doctor
#endif

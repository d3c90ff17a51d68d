// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_WRITE_THROUGH_HPP
#define ACCRUE_CORE_WRITE_THROUGH_HPP

#include <accrue/core/scalar.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <utility>

namespace accrue {

/// Adds a kernel's gradient to the sums, element by element, without a gradient in memory.
///
/// Order: once for every element of the parameter. Guarantee: sums that the group has not touched are overwritten, not
/// read. Example: `add(2.0f * error * x(i, j), i, j);`
template <class View>
struct gradient_adder {
  using sum_type = typename View::non_const_value_type;

  View sums;
  real_t<sum_type> beta;
  real_t<sum_type> weight;

  template <class Value, class... Index>
  KOKKOS_FUNCTION void operator()(Value const& gradient, Index... index) const {
    sum_type& sum = sums(index...);
    sum_type const weighed = sum_type(widen(gradient)) * weight;
    sum = beta == 0 ? weighed : sum * beta + weighed;
  }
};

/// Where a producer adds a parameter's gradient to the sums itself. A parameter whose target is not asked for its sums
/// or its adder is not touched by the microbatch.
template <class View>
class write_target {
 public:
  write_target(View sums, double beta, double weight, std::uint8_t* asked)
      : sums_(std::move(sums)), beta_(beta), weight_(weight), asked_(asked) {}

  /// For matrix products: sums = weight * gradient + beta * sums. All of them are to be written.
  [[nodiscard]] View const& sums() const {
    *asked_ = 1;
    return sums_;
  }
  /// 0 where the sums are to be overwritten, else mostly 1.
  [[nodiscard]] double beta() const { return beta_; }
  /// What the microbatch's gradient is multiplied by: its count if it is a mean, 1 if it is a sum; over what the sums
  /// are divided by already, under an early or running division.
  [[nodiscard]] double weight() const { return weight_; }

  /// For kernels: the same, element by element.
  [[nodiscard]] gradient_adder<View> adder() const {
    using real = real_t<typename View::non_const_value_type>;
    return {sums(), static_cast<real>(beta_), static_cast<real>(weight_)};
  }

 private:
  View sums_;
  double beta_;
  double weight_;
  std::uint8_t* asked_;
};

/// A microbatch whose producer adds its gradient, a mean over the unit of the normalization, to the sums itself:
/// `producer(exec, target, ...)` with a `write_target` for each parameter, or a vector of them.
///
/// Order: the producer is called in `accumulate`, once, and not for a microbatch that is ignored. Guarantee: if it
/// throws, the open group is discarded, on the record, because its sums may be written in part. Cost: 8 bytes a
/// parameter of float instead of 12 and the producer's own; the norm of the group is a read of its own.
template <class Producer>
class mean_written_by {
 public:
  static constexpr bool is_mean = true;
  explicit mean_written_by(Producer by) : producer(std::move(by)) {}
  Producer producer;
};

/// The same for a gradient that is a sum.
template <class Producer>
class sum_written_by {
 public:
  static constexpr bool is_mean = false;
  explicit sum_written_by(Producer by) : producer(std::move(by)) {}
  Producer producer;
};

template <class T>
inline constexpr bool is_written_v = false;
template <class Producer>
inline constexpr bool is_written_v<mean_written_by<Producer>> = true;
template <class Producer>
inline constexpr bool is_written_v<sum_written_by<Producer>> = true;

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/core/norm.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using accrue::norm_order;
using accrue::norm_partial;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double smallest = 5e-324;

/// What a pass does with one chunk.
norm_partial measured(norm_order order, std::vector<double> const& values) {
  norm_partial part;
  for (double x : values) {
    part.sum += order.power(std::abs(x));
    part.largest = accrue::larger(part.largest, std::abs(x));
    part.non_finite |= std::isfinite(x) ? 0 : 1;
  }
  if (accrue::needs_rescaling(order, part)) {
    part.exponent = accrue::exponent_of(part.largest);
    accrue::rescale const scaled(part.exponent);
    part.sum = 0.0;
    for (double x : values) part.sum += order.power(scaled(std::abs(x)));
  }
  return part;
}

double norm(double p, std::vector<std::vector<double>> const& chunks, double divisor = 1.0) {
  norm_order const order{p};
  norm_partial total;
  for (auto const& values : chunks) total = accrue::merged(order, total, measured(order, values));
  return accrue::norm_of(order, total, divisor);
}

/// The oracle: where long double has 15 bits of exponent, powers of doubles need no scaling in it.
constexpr bool long_double_is_wide =
    std::numeric_limits<long double>::max_exponent > 8 * std::numeric_limits<double>::max_exponent;

long double exact_norm(double p, std::vector<std::vector<double>> const& chunks, double divisor = 1.0) {
  long double sum = 0.0L, largest = 0.0L;
  for (auto const& values : chunks)
    for (double x : values) {
      largest = std::max(largest, std::abs(static_cast<long double>(x)));
      if (!std::isinf(p)) sum += std::pow(std::abs(static_cast<long double>(x)), static_cast<long double>(p));
    }
  return (std::isinf(p) ? largest : std::pow(sum, 1.0L / static_cast<long double>(p))) /
         static_cast<long double>(divisor);
}

/// The largest relative error, in units of a double's last place, over chunks of values around the given scales.
double worst_error(double p, std::vector<double> const& scales, double divisor = 1.0) {
  double worst = 0.0;
  for (double a : scales)
    for (double b : scales)
      for (double c : scales) {
        std::vector<std::vector<double>> const chunks{
            {1.0 * a, -1.75 * a, 1.25 * a}, {-1.5 * b, 0.0, 1.125 * b}, {}, {1.9375 * c}};
        long double const expected = exact_norm(p, chunks, divisor);
        long double const error = std::abs(static_cast<long double>(norm(p, chunks, divisor)) / expected - 1.0L);
        worst = std::max(worst, static_cast<double>(error / std::numeric_limits<double>::epsilon()));
      }
  return worst;
}

}  // namespace

TEST_CASE("norm: agrees with long double for values whose powers leave the range of double") {
  if (!long_double_is_wide) return;
  std::vector<double> const scales{1e-290, 1e-200, 1e-155, 1e-100, 1e-50, 1.0, 1e50, 1e100, 1e155, 1e200, 1e290};
  // Six additions and six powers; 1 / p is rounded, and ln(sum) < 700 makes of that an error of 350 / p units.
  CHECK(worst_error(1.0, scales) < 8.0);
  CHECK(worst_error(2.0, scales) < 8.0);
  CHECK(worst_error(3.0, scales) < 8.0 + 350.0 / 3.0);
  CHECK(worst_error(1.5, scales) < 8.0 + 350.0 / 1.5);
  CHECK(worst_error(7.0, scales) < 8.0 + 350.0 / 7.0);
  CHECK(worst_error(infinity, scales) == 0.0);
}

TEST_CASE("norm: the divisor divides the values, not their powers") {
  if (!long_double_is_wide) return;
  std::vector<double> const scales{1e-200, 1.0, 1e200};
  CHECK(worst_error(2.0, scales, 2048.0) < 8.0);
  CHECK(worst_error(3.0, scales, 0.001) < 8.0 + 350.0 / 3.0);
  CHECK(worst_error(infinity, scales, 4.0) == 0.0);
  CHECK(norm(2.0, {{3e300, 4e300}}, 1e10) == doctest::Approx(5e290).epsilon(1e-15));
}

TEST_CASE("norm: ordinary values are summed exactly as written, without an exponent") {
  norm_partial const part = measured(norm_order{2.0}, {3.0, -4.0});
  CHECK(part.sum == 25.0);
  CHECK(part.exponent == 0);
  CHECK(part.largest == 4.0);
  CHECK(norm(2.0, {{3.0}, {-4.0}}) == 5.0);
  CHECK(norm(1.0, {{3.0}, {-4.0}}) == 7.0);
  CHECK(norm(infinity, {{3.0}, {-4.0}}) == 4.0);
  CHECK(norm(3.0, {{3.0, 4.0}, {5.0}}) == doctest::Approx(6.0).epsilon(1e-15));
  CHECK(norm(2.0, {{1e-130, 1e130}}) == 1e130);
}

TEST_CASE("norm: values that are multiplied have the norm multiplied, whatever the order") {
  for (double p : {1.0, 2.0, 3.0, 12.0, 128.0, 512.0, infinity}) {
    norm_order const order{p};
    for (double factor : {1.0, 0.25, 3.0, 512.0, 1e-28, 1e28, 1e-30, 1e30}) {
      for (double size : {1.0, 1e-20, 1e20, 1e-200, 1e200}) {
        norm_partial const part = accrue::times(order, measured(order, {size, 0.5 * size}), factor);
        double const expected = norm(p, {{1.0, 0.5}}) * size * factor;
        CHECK(accrue::norm_of(order, part, 1.0) == doctest::Approx(expected).epsilon(1e-12));
        norm_partial const both = accrue::merged(order, part, measured(order, {size * factor, 0.0}));
        CHECK(accrue::norm_of(order, both, 1.0) ==
              doctest::Approx(norm(p, {{1.0, 0.5, 1.0}}) * size * factor).epsilon(1e-12));
      }
    }
    CHECK(accrue::norm_of(order, accrue::times(order, norm_partial{}, 1e30), 1.0) == 0.0);
    CHECK(!std::isfinite(accrue::norm_of(order, accrue::times(order, measured(order, {infinity}), 512.0), 1.0)));
  }
}

TEST_CASE("norm: of nothing and of zeros it is 0") {
  for (double p : {1.0, 2.0, 3.0, infinity}) {
    CHECK(norm(p, {}) == 0.0);
    CHECK(norm(p, {{}, {0.0, -0.0}}) == 0.0);
  }
}

TEST_CASE("norm: of one number it is that number, from the smallest to the largest") {
  double const most = std::numeric_limits<double>::max();
  for (double x : {smallest, 3 * smallest, 1e-310, 2.2250738585072014e-308, 1.5e-170, 0.1, 7e160, most / 3, most}) {
    CHECK(norm(1.0, {{x}}) == x);
    CHECK(norm(infinity, {{-x}}) == x);
    CHECK(norm(2.0, {{-x}}) == doctest::Approx(x).epsilon(1e-15));
  }
  CHECK(norm(2.0, {{smallest}}) == smallest);
  CHECK(norm(2.0, {{smallest}, {smallest}, {smallest}, {smallest}}) == 2 * smallest);
}

TEST_CASE("norm: a chunk of large values and one of small ones merge alike from both sides") {
  for (double p : {1.0, 2.0, 3.0}) {
    norm_order const order{p};
    norm_partial const large = measured(order, {1e200, -2e200}), small = measured(order, {3e-200}),
                       medium = measured(order, {5.0, 6.0}), none;
    std::vector<norm_partial> const parts{large, small, medium, none};
    for (norm_partial const& a : parts)
      for (norm_partial const& b : parts) {
        norm_partial const ab = accrue::merged(order, a, b), ba = accrue::merged(order, b, a);
        CHECK(ab.sum == ba.sum);
        CHECK(ab.largest == ba.largest);
        CHECK((ab.largest == 0.0 || ab.exponent == ba.exponent));
        CHECK(accrue::norm_of(order, ab, 1.0) == accrue::norm_of(order, ba, 1.0));
      }
    CHECK(accrue::norm_of(order, accrue::merged(order, small, large), 1.0) == accrue::norm_of(order, large, 1.0));
    CHECK(accrue::norm_of(order, accrue::merged(order, none, small), 1.0) == accrue::norm_of(order, small, 1.0));
  }
}

TEST_CASE("norm: scales that are near each other add up across the border where rescaling begins") {
  // 1e-140 squared is just above that border, 1e-141 just below: both must count.
  CHECK(norm(2.0, {{3e-140}, {4e-141}}) == doctest::Approx(std::sqrt(9.16) * 1e-140).epsilon(1e-15));
  CHECK(norm(2.0, {{4e-141}, {3e-140}}) == doctest::Approx(std::sqrt(9.16) * 1e-140).epsilon(1e-15));
  CHECK(norm(2.0, {{3e149}, {4e150}}) == doctest::Approx(std::sqrt(16.09) * 1e150).epsilon(1e-15));
  CHECK(norm(2.0, {{4e150}, {3e149}}) == doctest::Approx(std::sqrt(16.09) * 1e150).epsilon(1e-15));
}

TEST_CASE("norm: what is not finite is found in every place, and never rescaled away") {
  for (double p : {1.0, 2.0, 3.0, infinity})
    for (double bad : {not_a_number, infinity, -infinity})
      for (std::size_t place = 0; place < 3; ++place) {
        std::vector<std::vector<double>> chunks{{1.0}, {1e250}, {1e-250}};
        chunks[place].push_back(bad);
        norm_order const order{p};
        norm_partial total;
        for (auto const& values : chunks) total = accrue::merged(order, total, measured(order, values));
        CHECK(total.non_finite != 0);
        CHECK(!std::isfinite(total.largest));
        CHECK(!std::isfinite(accrue::norm_of(order, total, 3.0)));
      }
}

TEST_CASE("norm: a NaN is the larger of two, on either side") {
  CHECK(accrue::larger(1.0, 2.0) == 2.0);
  CHECK(accrue::larger(2.0, 1.0) == 2.0);
  CHECK(std::isnan(accrue::larger(not_a_number, 1.0)));
  CHECK(std::isnan(accrue::larger(1.0, not_a_number)));
  CHECK(std::isnan(accrue::larger(not_a_number, infinity)));
}

TEST_CASE("norm: a power of two brings a modulus to between 1 and 2, without rounding") {
  for (double x : {smallest, 1e-310, 1e-200, 0.75, 1.0, 1.5, 1e200, std::numeric_limits<double>::max()}) {
    double const scaled = accrue::rescale(accrue::exponent_of(x))(x);
    CHECK(scaled >= 1.0);
    CHECK(scaled < 2.0);
    CHECK(std::ldexp(scaled, accrue::exponent_of(x)) == x);
  }
  CHECK(accrue::exponent_of(0.0) == 0);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints the table of docs/precision.md: the largest error of a sum of A gradients, in units of a float's last place,
// against the exact sum. Every number is a multiple of 2^-30 below 2^6, so that 64-bit integers hold the exact sums.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t elements = 64;
constexpr std::array<int, 4> lengths{1, 16, 1'000, 100'000};
constexpr double unit = 0x1p-30;

enum class signs { one, random, cancelling, outlier };

/// Added first, and taken away last.
constexpr double outlier = 0x1p40;

/// The m-th of `of` gradients of an element, of so many bits. Cancelling: a third of large numbers, a third of small
/// ones, and the large ones once more with the other sign, so that the small ones are what is left.
double draw(std::mt19937_64& engine, int bits, signs kind, int m, int of, std::vector<double>& large) {
  double const u = std::ldexp(static_cast<double>((engine() >> (64 - bits)) + 1), -bits);  // above 0, at most 1
  bool const negative = (engine() & 1) != 0;
  if (kind == signs::outlier && of > 1 && (m == 0 || m + 1 == of)) return m == 0 ? outlier : -outlier;
  if (kind == signs::one || kind == signs::outlier) return u;
  if (kind == signs::random) return negative ? -u : u;
  int const third = of / 3;
  if (m < third) {
    large.push_back(32.0 * u);
    return large.back();
  }
  if (m >= of - third) {
    double const again = large.back();
    large.pop_back();
    return -again;
  }
  return u * 0x1p-6;
}

double ulp_of_float(double x) {
  auto const f = static_cast<float>(std::abs(x));
  return static_cast<double>(std::nextafter(f, std::numeric_limits<float>::infinity())) - static_cast<double>(f);
}

template <class Summation, class G>
double largest_error(signs kind, int of) {
  Kokkos::View<float*, Kokkos::HostSpace> const theta("theta", elements);
  Kokkos::View<G*, Kokkos::HostSpace> const gradient("gradient", elements);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_microbatch{}, accrue::sum_objective{}, Summation{},
                            accrue::sgd{});
  std::mt19937_64 engine(20261130);
  std::array<std::int64_t, elements> exact{};
  std::array<std::vector<double>, elements> large;
  for (int m = 0; m < of; ++m) {
    for (std::size_t i = 0; i < elements; ++i) {
      double const drawn = draw(engine, sizeof(G) == 2 ? 15 : 24, kind, m, of, large[i]);
      gradient(i) = G(static_cast<float>(drawn));
      if (std::abs(drawn) == outlier) continue;
      exact[i] += static_cast<std::int64_t>(static_cast<double>(accrue::widen(gradient(i))) / unit);
    }
    group.accumulate(accrue::sum_gradient{gradient});
  }
  auto const sums = group.template snapshot<0>();
  double largest = 0.0;
  for (std::size_t i = 0; i < elements; ++i) {
    auto const whole = static_cast<double>(exact[i]);  // below 2^53 units
    double const error = std::abs(static_cast<double>(sums(i)) / unit - whole) * unit;
    largest = std::max(largest, error / ulp_of_float(whole * unit));
  }
  return largest;
}

template <class Summation, class G>
std::string row(signs kind) {
  std::string cells;
  for (int const of : lengths) {
    char cell[32];
    double const error = largest_error<Summation, G>(kind, of);
    std::snprintf(cell, sizeof cell, error == 0.0 ? " 0 |" : error < 0.01 ? " %.0e |" : " %.2g |", error);
    cells += cell;
  }
  return cells;
}

template <class G>
void rows(char const* scalar) {
  for (auto const& [kind, name] :
       {std::pair{signs::one, "one sign"}, std::pair{signs::random, "random signs"},
        std::pair{signs::cancelling, "cancelling"}, std::pair{signs::outlier, "beside 2^40 and -2^40"}}) {
    if (kind == signs::outlier && sizeof(G) == 2) continue;  // float16 ends at 65504
    auto const print = [&, kind = kind, name = name](char const* summation, std::string const& cells) {
      std::printf("| %s | %s | `%s` |%s\n", scalar, name, summation, cells.c_str());
    };
    print("widened<>", row<accrue::widened<>, G>(kind));
    print("widened<double>", row<accrue::widened<double>, G>(kind));
    print("compensated", row<accrue::compensated, G>(kind));
    print("order_independent", row<accrue::order_independent, G>(kind));
  }
}

}  // namespace

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard kokkos(argc, argv);
  std::puts("| gradients | numbers | summation | A = 1 | 16 | 1 000 | 100 000 |\n|---|---|---|---|---|---|---|");
  rows<float>("float");
  rows<accrue::float16>("float16");
  rows<accrue::bfloat16>("bfloat16");
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_ACCUMULATE_KEPT_HPP
#define ACCRUE_TESTS_ACCUMULATE_KEPT_HPP

#include <accrue/core/scalar.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

// Sums number by number. All of it holds under -ffast-math, where no function may be handed or return a NaN by value.

inline constexpr double not_a_number = std::bit_cast<double>(0x7ff8000000000000);
inline constexpr double infinite = std::bit_cast<double>(0x7ff0000000000000);
/// One sum of `Real`, as a pass keeps it between the microbatches.
template <class Carry>
struct kept {
  double sum = 0.0;
  double words[Carry::words]{};
  bool empty = true;

  void add(double const& x) {
    if (empty)
      Carry::begin(sum, words, x);
    else
      Carry::add(sum, words, x);
    empty = false;
  }
  void merge(kept const& other) {
    if (other.empty) return;
    if (empty)
      *this = other;
    else
      Carry::merge(sum, words, other.sum, other.words);
  }
  [[nodiscard]] double value() const { return empty ? 0.0 : Carry::value(sum, words); }
  /// Whether the value is not finite, looked at in memory, as the passes do.
  [[nodiscard]] bool spoiled() const {
    double volatile stored = 0.0;
    stored = Carry::value(sum, words);
    double const loaded = stored;
    return !accrue::is_finite(loaded);
  }
  [[nodiscard]] std::vector<std::uint64_t> bits() const {
    std::vector<std::uint64_t> all;
    for (double word : words) all.push_back(std::bit_cast<std::uint64_t>(word));
    return all;
  }
};

template <class Kept>
Kept added(std::vector<double> const& numbers) {
  Kept all;
  for (double const& x : numbers) all.add(x);
  return all;
}

/// Numbers of both signs over so many binary orders, with zeros and with numbers that cancel.
inline std::vector<double> mixed_numbers(std::mt19937_64& engine, std::size_t count, int lowest, int highest) {
  std::uniform_int_distribution<int> exponent(lowest, highest), kind(0, 9);
  std::uniform_real_distribution<double> mantissa(-1.0, 1.0);
  std::vector<double> numbers;
  while (numbers.size() < count) {
    double const x = std::ldexp(mantissa(engine), exponent(engine));
    int const k = kind(engine);
    numbers.push_back(k == 0 ? 0.0 : x);
    if (k == 1) numbers.push_back(-x);
  }
  return numbers;
}

#endif

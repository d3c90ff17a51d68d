// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kept.hpp"

#include <accrue/accumulate/compensated.hpp>
#include <accrue/accumulate/order_independent.hpp>
#include <accrue/core/error.hpp>
#include <accrue/core/lane_memory.hpp>

#include <doctest/doctest.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

template struct accrue::binned<2>;
template struct accrue::binned<3>;
template class accrue::binned_total<double>;
template struct accrue::order_independent_sum<float>;
template struct accrue::order_independent_sum<double>;

namespace {

constexpr double smallest = std::numeric_limits<double>::denorm_min();

template <class Real>
using binned_kept = kept<accrue::order_independent_sum<Real>>;

}  // namespace

TEST_CASE_TEMPLATE("order_independent: 1000 orders on 1 to 8 replicas give one bit pattern", T, float, double) {
  std::mt19937_64 engine(1);
  int const most = std::is_same_v<T, float> ? 120 : 990, least = std::is_same_v<T, float> ? -149 : -1074;
  for (int range : {10, 100, most}) {
    auto numbers = mixed_numbers(engine, 200, std::max(-range, least), range);
    auto const expected = added<binned_kept<T>>(numbers);
    for (int order = 0; order < 1000; ++order) {
      std::shuffle(numbers.begin(), numbers.end(), engine);
      std::vector<binned_kept<T>> replicas(1 + engine() % 8);
      for (double x : numbers) replicas[engine() % replicas.size()].add(x);
      std::shuffle(replicas.begin(), replicas.end(), engine);
      while (replicas.size() > 1) {  // any tree
        std::size_t const into = engine() % (replicas.size() - 1);
        replicas[into].merge(replicas.back());
        replicas.pop_back();
      }
      REQUIRE(replicas[0].bits() == expected.bits());
      REQUIRE(std::bit_cast<std::uint64_t>(replicas[0].value()) == std::bit_cast<std::uint64_t>(expected.value()));
    }
  }
}

TEST_CASE("order_independent: numbers within 32 bits of each other are summed exactly and rounded once") {
  std::mt19937_64 engine(2);
  std::uniform_int_distribution<std::int64_t> number(-(std::int64_t{1} << 31), std::int64_t{1} << 31);
  for (int scale : {-900, -149, -31, 0, 17, 500}) {
    std::int64_t exact = 0;
    binned_kept<float> narrow;
    binned_kept<double> wide;
    for (int n = 0; n < 10'000; ++n) {
      std::int64_t const x = number(engine);
      exact += x;
      narrow.add(std::ldexp(static_cast<double>(x), scale));
      wide.add(std::ldexp(static_cast<double>(x), scale));
    }
    CHECK(wide.value() == std::ldexp(static_cast<double>(exact), scale));
    if (std::abs(scale) < 90)  // within float
      CHECK(std::ldexp(narrow.value(), -scale) == static_cast<double>(static_cast<float>(exact)));
  }
}

TEST_CASE_TEMPLATE("order_independent: what is lost of each number lies below the lowest bin", T, float, double) {
  std::mt19937_64 engine(3);
  double const lost = std::is_same_v<T, float> ? 0x1p-32 : 0x1p-64;
  for (int range : {2, 20, 60}) {
    auto const numbers = mixed_numbers(engine, 5000, -range, 0);
    long double exact = 0;  // 2^-60 * 2^-52 to 2^12: what is rounded away here is far less than the bound
    double largest = 0;
    for (double x : numbers) exact += x, largest = std::max(largest, std::abs(x));
    auto const value = static_cast<long double>(added<binned_kept<T>>(numbers).value());
    long double const rounding = std::abs(exact) * std::numeric_limits<T>::epsilon();
    CHECK(std::abs(value - exact) <= 5000.0L * (lost + 0x1p-63) * largest + rounding);
  }
}

TEST_CASE("order_independent: bins move up in the middle, and what was summed below stays as far as it is kept") {
  CHECK(added<binned_kept<double>>({1.0, 0x1p40, -0x1p40}).value() == 1.0);
  CHECK(added<binned_kept<double>>({0x1p-30, 0x1p20, 1.0, -0x1p20}).value() == 1.0 + 0x1p-30);
  CHECK(added<binned_kept<double>>({1.0, 0x1p200, -0x1p200}).value() == 0.0);  // beyond three bins
  CHECK(added<binned_kept<double>>({0.0, 0.0, 3.5}).value() == 3.5);
  CHECK(added<binned_kept<float>>({1e8, 1.0, -1e8}).value() == 1.0);
  CHECK(added<binned_kept<float>>({1.0, 0x1p90, -0x1p90}).value() == 0.0);
}

TEST_CASE("order_independent: the ends of the range of double") {
  CHECK(added<binned_kept<double>>({0x1p-1040, 0x1p-1050, 0x1p-1040}).value() == 0x1p-1039 + 0x1p-1050);
  CHECK(added<binned_kept<double>>({0x1p-1022, smallest, smallest}).value() == 0x1p-1022);  // below the lowest unit
  CHECK(added<binned_kept<float>>({0x1p-149, 0x1p-149, 0x1p-126}).value() == 0x1p-126 + 0x1p-148);
  CHECK(added<binned_kept<double>>({0x1p992, 0x1p992, -0x1p992}).value() == 0x1p992);
  CHECK(added<binned_kept<double>>({}).value() == 0.0);
  for (double const& bad : {not_a_number, infinite, -infinite, 0x1p993, -1e308}) {  // for good, wherever it stands
    CHECK(added<binned_kept<double>>({bad, 1.0, 2.0}).spoiled());
    CHECK(added<binned_kept<double>>({1.0, bad, 2.0}).spoiled());
    CHECK(added<binned_kept<double>>({1.0, 2.0, bad, 0x1p900}).spoiled());
    CHECK(added<binned_kept<float>>({1.0, bad, 2.0}).spoiled());
    auto other = added<binned_kept<float>>({1.0});
    other.merge(added<binned_kept<float>>({2.0, bad}));
    CHECK(other.spoiled());
  }
}

TEST_CASE("order_independent: the most numbers that a group may hold fit, and one more is refused") {
  constexpr std::int64_t most = accrue::order_independent::most_contributions;
  auto const same = [&](double x) {
    binned_kept<float> all;
    for (std::int64_t n = 0; n < most; ++n) all.add(x);
    return all;
  };
  double const top = 0x1p31 - 1;       // the largest of a bin: the sum comes nearest to the end of its room
  for (int bin : {-3, -1, 0, 1, 2}) {  // some place has it
    double const x = std::ldexp(top, 32 * bin + 1);
    CHECK(same(x).value() == static_cast<double>(static_cast<float>(x * static_cast<double>(most))));
    CHECK(same(-x).value() == -same(x).value());
  }
  accrue::refuse_too_many<accrue::order_independent>(most);
  accrue::refuse_too_many<accrue::widened<>>(most + 1);
  CHECK_THROWS_AS(accrue::refuse_too_many<accrue::order_independent>(most + 1), accrue::error);
}

TEST_CASE("order_independent: a group's real weights add up to the same bits in any order") {
  std::mt19937_64 engine(4);
  auto numbers = mixed_numbers(engine, 100, -40, 40);
  accrue::binned_total<double> expected;
  for (double x : numbers) expected += x;
  CHECK(static_cast<double>(accrue::binned_total<double>{}) == 0.0);
  for (int order = 0; order < 100; ++order) {
    std::shuffle(numbers.begin(), numbers.end(), engine);
    accrue::binned_total<double> total;
    for (double x : numbers) total += x;
    CHECK(static_cast<double>(total) == static_cast<double>(expected));
  }
}

#if ACCRUE_HAS_LANES
TEST_CASE_TEMPLATE("summation: lanes have the bits of numbers one by one", Carry, accrue::order_independent_sum<float>,
                   accrue::order_independent_sum<double>, accrue::compensated_sum<float>,
                   accrue::compensated_sum<double>) {
  using lanes = accrue::lanes<double>;
  constexpr std::size_t width = accrue::lane_count;
  std::mt19937_64 engine(5);
  for (int turn = 0; turn < 200; ++turn) {
    std::array<std::vector<double>, width> columns;
    for (auto& column : columns) column = mixed_numbers(engine, 40, -100 - turn, 30 + turn);
    if (turn % 10 == 0) columns[engine() % width][engine() % 40] = turn % 20 == 0 ? not_a_number : 0x1p1000;
    std::array<kept<Carry>, width> one_by_one;
    lanes sum(0.0), words[Carry::words]{};
    for (std::size_t n = 0; n < 40; ++n) {
      double row[width];
      for (std::size_t c = 0; c < width; ++c) row[c] = columns[c][n], one_by_one[c].add(row[c]);
      lanes const x = accrue::load_lanes(row);
      if (n == 0)
        Carry::begin(sum, words, x);
      else
        Carry::add(sum, words, x);
    }
    double stored[width];
    accrue::store_lanes(Carry::value(sum, words), stored);
    for (std::size_t c = 0; c < width; ++c) CHECK((stored[c] == one_by_one[c].value() || one_by_one[c].spoiled()));
    for (int k = 0; k < Carry::words; ++k) {
      accrue::store_lanes(words[k], stored);
      for (std::size_t c = 0; c < width; ++c) {
        double const& word = one_by_one[c].words[k];
        bool const both_spoiled = !accrue::is_finite(stored[c]) && !accrue::is_finite(word);
        CHECK((std::bit_cast<std::uint64_t>(stored[c]) == std::bit_cast<std::uint64_t>(word) || both_spoiled));
      }
    }
  }
}
#endif

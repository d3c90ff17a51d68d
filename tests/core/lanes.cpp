// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lanes must do bit for bit what one number at a time does.
#include <accrue/core/lane_memory.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#if ACCRUE_HAS_LANES

using accrue::lanes;
using accrue::load_lanes;

namespace {

template <class T>
using eight = std::array<T, 8>;

template <class T>
bool same_bits(T const& a, T const& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Patterns of floats: all kinds of numbers, dense around every border of a narrower type.
std::vector<float> patterns() {
  std::vector<float> all;
  for (std::uint32_t upper = 0; upper < 0x10000u; ++upper) {
    for (std::uint32_t lower : {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x7fffu, 0x8000u,
                                0x8001u, 0xefffu, 0xf000u, 0xffffu})
      all.push_back(accrue::detail::bits_as<float>(upper << 16 | lower));
  }
  while (all.size() % 8 != 0) all.push_back(1.0f);
  return all;
}

}  // namespace

TEST_CASE_TEMPLATE("lanes: arithmetic is lane by lane, and a number stands for eight", Real, float, double) {
  eight<Real> const a{1, -2, 3, 0.5, -0.0, 7, 1e30f, 9}, b{3, 4, -5, 0.25, 2, 7, 1e-30f, -1};
  auto const x = load_lanes(a.data()), y = load_lanes(b.data());
  auto const sum = x + y, difference = x - y, product = x * y, quotient = x / y, mixed = Real(2) * x - Real(1);
  auto const larger = accrue::larger_of(x, y), root = accrue::root_of(x * x);
  lanes<Real> grown = x;
  grown += y;
  lanes<Real> shrunk = x;
  shrunk -= y;
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(same_bits(sum[i], a[i] + b[i]));
    CHECK(same_bits(difference[i], a[i] - b[i]));
    CHECK(same_bits(product[i], a[i] * b[i]));
    CHECK(same_bits(quotient[i], a[i] / b[i]));
    CHECK(mixed[i] == Real(2) * a[i] - Real(1));
    CHECK(larger[i] == std::max(a[i], b[i]));
    CHECK(root[i] == std::sqrt(a[i] * a[i]));
    CHECK(same_bits(grown[i], a[i] + b[i]));
    CHECK(same_bits(shrunk[i], a[i] - b[i]));
  }
}

TEST_CASE("lanes: from float to double and back, in order") {
  eight<float> const a{1, 2, 3, 4, 5, 6, 7, 0.1f};
  auto const wide = accrue::lanes_as<double>(load_lanes(a.data()));
  for (std::size_t i = 0; i < 8; ++i) CHECK(wide[i] == static_cast<double>(a[i]));
  eight<double> const d{0.1, 1e300, -1e-50, 4.0, 1.0 + 0x1p-24, 6.0, 7.0, 1.0 + 0x3p-24};
  auto const narrow = accrue::lanes_as<float>(load_lanes(d.data()));
  for (std::size_t i = 0; i < 8; ++i) CHECK(same_bits(narrow[i], static_cast<float>(d[i])));
}

TEST_CASE_TEMPLATE("lanes: every 16-bit number is widened to the bits of one at a time", T, accrue::float16,
                   accrue::bfloat16) {
  int wrong = 0;
  for (std::uint32_t first = 0; first < 0x10000u; first += 8) {
    eight<T> narrow;
    for (std::uint32_t i = 0; i < 8; ++i) narrow[i] = T::from_bits(static_cast<std::uint16_t>(first + i));
    auto const wide = load_lanes(narrow.data());
    for (std::size_t i = 0; i < 8; ++i) wrong += same_bits(wide[i], accrue::widen(narrow[i])) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("lanes: floats of every kind are narrowed to the bits of one at a time", T, accrue::float16,
                   accrue::bfloat16) {
  auto const all = patterns();
  int wrong = 0;
  for (std::size_t first = 0; first < all.size(); first += 8) {
    eight<T> narrow;
    accrue::store_lanes(load_lanes(&all[first]), narrow.data());
    for (std::size_t i = 0; i < 8; ++i) wrong += narrow[i].bits() == T(all[first + i]).bits() ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("lanes: what is stored past the caches is there", Real, float, double) {
  alignas(64) eight<Real> const from{1, -2, 3, 0.5, -0.0, 7, 1e30f, 9};
  alignas(64) eight<Real> to{};
  accrue::stream_lanes(load_lanes(from.data()), to.data());
  accrue::fence_streams();
  CHECK(to == from);
}

TEST_CASE("lanes: the root and the larger one of a single number") {
  CHECK(accrue::root_of(9.0) == 3.0);
  CHECK(accrue::larger_of(2.0f, 3.0f) == 3.0f);
  CHECK(accrue::larger_of(3.0f, 2.0f) == 3.0f);
}

#endif

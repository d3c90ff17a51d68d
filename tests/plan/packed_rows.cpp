// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/packed_rows.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <random>
#include <vector>

namespace plan = accrue::plan;
using accrue::samples;
using accrue::tokens;
using plan::length;
using plan::length_bar;
using plan::packed_rows;
using plan::refusal;
using plan::totals_of;

namespace {

// [snippet packed_rows]
constexpr std::array mixed{length_bar{tokens{6}, samples{2}}, length_bar{tokens{3}, samples{4}}};
constexpr auto rows = packed_rows(mixed, length{10}).value();
static_assert(totals_of(rows) == plan::length_totals{samples{3}, tokens{24}, tokens{9}});  // 6+3, 6+3 and 3+3
static_assert(plan::tokens_per_update(rows, samples{2}).value().expected == 16.0);
// [/snippet packed_rows]

static_assert(packed_rows(mixed, length{5}) == refusal::longer_than_row);
static_assert(packed_rows(mixed, length{}) == refusal::no_length);
static_assert(packed_rows(std::array{length_bar{tokens{}, samples{1}}}, length{5}) == refusal::no_length);
static_assert(packed_rows(std::array{length_bar{tokens{3}, samples{}}}, length{5}) == refusal::no_lengths);

// A billion samples are as easy as ten: 333 333 333 rows of 3, and one of 1.
constexpr auto many = packed_rows(std::array{length_bar{tokens{3}, samples{1'000'000'000}}}, length{10}).value();
static_assert(many[0] == length_bar{tokens{9}, samples{333'333'333}});
static_assert(many[1] == length_bar{tokens{3}, samples{1}});

// One sample after the other, the longest first, each into the first row that has room.
std::vector<std::int64_t> one_by_one(std::vector<std::int64_t> all, std::int64_t room) {
  std::sort(all.begin(), all.end(), std::greater<>());
  std::vector<std::int64_t> filled;
  for (std::int64_t size : all) {
    auto const first = std::find_if(filled.begin(), filled.end(), [&](auto row) { return row + size <= room; });
    if (first == filled.end())
      filled.push_back(size);
    else
      *first += size;
  }
  std::sort(filled.begin(), filled.end());
  return filled;
}

}  // namespace

TEST_CASE("plan: a histogram is packed as its samples would be, one by one") {
  std::mt19937 random(20);
  auto const up_to = [&](std::int64_t n) { return std::uniform_int_distribution<std::int64_t>(1, n)(random); };
  for (int round = 0; round < 300; ++round) {
    std::int64_t const room = up_to(60);
    std::array<length_bar, 6> bars{};
    std::vector<std::int64_t> all;
    for (auto& bar : bars) {
      std::int64_t const size = up_to(room), count = up_to(20) - 1;
      bar = {tokens{size}, samples{count}};
      all.insert(all.end(), static_cast<std::size_t>(count), size);
    }
    if (all.empty()) continue;
    std::vector<std::int64_t> filled;
    auto const packed = packed_rows(bars, length{room}).value();
    for (auto const& [each, count] : packed)
      filled.insert(filled.end(), static_cast<std::size_t>(count.value()), each.value());
    std::sort(filled.begin(), filled.end());
    REQUIRE(filled == one_by_one(all, room));
  }
}

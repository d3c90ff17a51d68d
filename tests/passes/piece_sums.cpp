// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/passes/piece_sums.hpp>

#include <doctest/doctest.h>
#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

std::vector<accrue::piece> numbered(std::size_t count) {
  std::vector<accrue::piece> all(count);
  for (std::size_t p = 0; p < count; ++p) all[p].block = p;
  return all;
}
/// What happened to each piece, and by which thread.
struct history {
  std::vector<std::atomic<int>> added, summed;
  std::vector<std::size_t> measured;
  std::atomic<int> wrong{0};
  std::thread::id summed_by;
  explicit history(std::size_t count) : added(count), summed(count) {}

  auto add() {
    return [this](accrue::piece const& each) { ++added[each.block]; };
  }
  auto sum() {
    return [this](accrue::piece const& each) {
      if (added[each.block] != 1) ++wrong;
      if (each.block > 0 && summed[each.block - 1] != 1) ++wrong;
      summed_by = std::this_thread::get_id();
      ++summed[each.block];
    };
  }
  auto measure() {
    return [this](accrue::piece const& each) {
      if (summed[each.block] != 1) ++wrong;
      measured.push_back(each.block);
    };
  }
};

}  // namespace

TEST_CASE("pieces are added, then summed, then measured, in their order, on a thread and in turn") {
  std::size_t const count = 40;
  for (bool const on_a_thread : {false, true}) {
    history seen(count);
    if (on_a_thread)
      accrue::sum_on_a_thread(numbered(count), seen.add(), seen.sum(), seen.measure());
    else
      accrue::sum_in_turn(numbered(count), seen.add(), seen.sum(), seen.measure());
    CHECK(seen.wrong == 0);
    CHECK((seen.summed_by == std::this_thread::get_id()) != on_a_thread);
    REQUIRE(seen.measured.size() == count);
    for (std::size_t p = 0; p < count; ++p) CHECK(seen.measured[p] == p);
    for (auto const& each : seen.summed) CHECK(each == 1);
  }
}

TEST_CASE("a sum that fails on the thread fails here, and nothing after it is measured") {
  history seen(6);
  auto const sum = [&](accrue::piece const& each) {
    if (each.block == 3) throw std::runtime_error("the wire is cut");
    seen.sum()(each);
  };
  CHECK_THROWS_WITH(accrue::sum_on_a_thread(numbered(6), seen.add(), sum, seen.measure()), "the wire is cut");
  CHECK(seen.measured.size() <= 3);
  CHECK(seen.summed[4] == 0);
}

TEST_CASE("a piece that cannot be added ends the thread, which sums none after it") {
  history seen(6);
  auto const add = [&](accrue::piece const& each) {
    if (each.block == 2) throw std::runtime_error("no such memory");
    seen.add()(each);
  };
  CHECK_THROWS_WITH(accrue::sum_on_a_thread(numbered(6), add, seen.sum(), seen.measure()), "no such memory");
  CHECK(seen.wrong == 0);
  CHECK(seen.summed[2] == 0);
}

TEST_CASE("where there are no pieces nothing is called") {
  history seen(1);
  accrue::sum_on_a_thread({}, seen.add(), seen.sum(), seen.measure());
  accrue::sum_in_turn({}, seen.add(), seen.sum(), seen.measure());
  CHECK(seen.added[0] == 0);
  CHECK(seen.measured.empty());
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/units.hpp>

#include <doctest/doctest.h>

#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>

namespace plan = accrue::plan;

namespace {

// [snippet units]
constexpr plan::ranks world = plan::ranks{8} * 2;  // 2 nodes of 8 devices
static_assert(world == plan::ranks{16});
static_assert(!std::is_convertible_v<plan::ranks, plan::replicas>);  // replicas_of is the way
// [/snippet units]

static_assert(!std::is_constructible_v<plan::replicas, plan::ranks>);
static_assert(!std::is_constructible_v<accrue::updates, plan::passes>);
static_assert(!std::is_convertible_v<int, plan::length>);

template <class Count>
std::string printed(Count count) {
  std::ostringstream out;
  out << count;
  return out.str();
}

}  // namespace

template class accrue::count<plan::unit::replicas>;
template class accrue::count<plan::unit::ranks>;
template class accrue::count<plan::unit::length>;
template class accrue::count<plan::unit::passes>;

TEST_CASE("units: a plan's counts print with their unit") {
  CHECK(printed(plan::replicas{4}) == "4 replicas");
  CHECK(printed(plan::ranks{8}) == "8 ranks");
  CHECK(printed(plan::length{4096}) == "4096 positions per sample");
  CHECK(printed(plan::passes{3}) == "3 passes");
}

TEST_CASE("P-015 units: a negative number is no count, for a plan either") {
  CHECK_THROWS_AS(plan::replicas{-1}, accrue::error);
  CHECK_THROWS_AS(accrue::microbatches{-8}, accrue::error);
}

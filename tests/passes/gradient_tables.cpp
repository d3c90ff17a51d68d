// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/core/contribution.hpp>
#include <accrue/passes/block.hpp>
#include <accrue/passes/gradient_tables.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using exec = Kokkos::DefaultExecutionSpace;
using array = Kokkos::View<float*>;
using accrue::first_touch;
using accrue::no_gradient;

/// Two parameters of three and four elements, whose numbers in the tables are the other way round.
struct two {
  exec instance;
  array a{"a", 3}, b{"b", 4}, buffer{"buffer", 7};
  accrue::view_directory directory;
  accrue::gradient_tables<exec, 2> tables;

  explicit two(bool lends = true) {
    directory.enter(a, 1, 0);
    directory.enter(b, 0, 0);
    directory.number_block(0, 0);
    directory.number_block(1, 1);
    auto const id = accrue::scalar_id<float>();
    tables = {instance,
              {accrue::run_of(buffer.data(), 4, id), accrue::run_of(buffer.data() + 4, 3, id)},
              {lends ? 1 : 0, 1, {0, 0}}};
  }
  [[nodiscard]] array sum_of_a() const { return Kokkos::subview(buffer, Kokkos::pair(4, 7)); }
  [[nodiscard]] array sum_of_b() const { return Kokkos::subview(buffer, Kokkos::pair(0, 4)); }

  template <class A, class B>
  bool take(int set, A const& of_a, B const& of_b, double weight = 1.0, bool may_stay = true) {
    tables.check(directory, std::tuple(a, b), std::tuple(of_a, of_b), set, may_stay);
    return tables.hold(directory, set, weight);
  }
};

}  // namespace

TEST_CASE("gradient_tables: the first touch of a group is told apart, view by view") {
  two m;
  array const of_a("gradient", 3), of_b("gradient", 4);
  CHECK(m.take(0, of_a, no_gradient));
  CHECK(m.tables.upload(m.instance, 1) == first_touch::all);
  CHECK(!m.tables.touched().any());  // not before its pass
  m.tables.touch(1);
  CHECK(m.tables.touched().is_touched(1));
  CHECK(!m.tables.touched().is_touched(0));

  CHECK(m.take(0, of_a, of_b));
  CHECK(m.tables.upload(m.instance, 1) == first_touch::some);
  m.tables.touch(1);
  CHECK(m.tables.upload(m.instance, 1) == first_touch::none);
  CHECK(!m.take(0, no_gradient, no_gradient));
}

TEST_CASE("gradient_tables: what was written into the buffer needs no pass, and waits for its weight") {
  two m;
  CHECK(!m.take(0, m.sum_of_a(), m.sum_of_b(), 0.5));
  CHECK(m.tables.touched().all());
  CHECK(m.tables.touched().keep(0) == 0.5);
  CHECK(m.tables.touched().keep(1) == 0.5);

  m.tables.touched().forget();
  array const of_b("gradient", 4);
  CHECK(m.take(0, m.sum_of_a(), of_b, 0.25));  // half of it
  CHECK(m.tables.touched().is_touched(1));
  CHECK(!m.tables.touched().is_touched(0));

  m.tables.touched().forget();
  CHECK(m.take(0, m.sum_of_a(), m.sum_of_b(), 0.5, false));  // a clip has to look at it first
  CHECK(!m.tables.touched().any());
}

TEST_CASE("gradient_tables: a gradient in memory that the group still needs is refused, and nothing changes") {
  two m;
  array const of_a("gradient", 3), of_b("gradient", 4);
  m.take(0, of_a, of_b);
  CHECK_THROWS_WITH_AS(m.take(1, of_a, no_gradient), doctest::Contains("parameter 0 ('a')"), accrue::error);
  m.take(0, m.sum_of_a(), no_gradient);
  CHECK_THROWS_AS(m.take(0, m.sum_of_a(), no_gradient), accrue::error);
  CHECK(m.take(0, no_gradient, of_b));
}

TEST_CASE("gradient_tables: contributions that come in turn are recognised, and each brings its own table") {
  two m;
  std::vector<array> of_a, of_b;
  for (int i = 0; i < 5; ++i) of_a.emplace_back("gradient", 3), of_b.emplace_back("gradient", 4);
  auto const take = [&](int set, std::size_t i) {
    m.take(set, of_a[i], of_b[i]);
    m.tables.upload(m.instance, set + 1);
    CHECK(m.tables.identity(set) > 0);
    return m.tables.recognised();
  };
  auto const pairs = {std::pair<std::size_t, std::size_t>{0, 1}, {2, 3}};
  for (bool const known : {false, true}) {
    for (auto const& [first, second] : pairs) {
      CHECK(take(0, first) == known);
      CHECK(take(1, second) == known);
    }
  }
  if constexpr (accrue::runs_on_host_v<exec>) {  // the views of b come first in the tables
    CHECK(m.tables.gradients(0)[0].data == of_b[2].data());
    CHECK(m.tables.gradients(1)[1].data == of_a[3].data());
  }
  CHECK(take(0, 0));
  CHECK(!take(1, 3));  // never held beside this one
  CHECK_THROWS_AS(m.take(1, of_a[0], of_b[0]), accrue::error);
}

TEST_CASE("gradient_tables: the buffer is refused a second time also where nothing may stay in it") {
  two m;
  for (int group = 0; group < 2; ++group) {
    CHECK(m.take(0, m.sum_of_a(), m.sum_of_b(), 1.0, false));
    m.tables.touch(1);
    CHECK_THROWS_AS(m.take(0, m.sum_of_a(), m.sum_of_b(), 1.0, false), accrue::error);
    m.tables.touched().forget();
  }
}

TEST_CASE("block_plan: every view begins at a multiple of 64 bytes, and one without elements takes no room") {
  accrue::block_plan plan;
  for (std::int64_t size : {3, 0, 16, 17, 1})
    plan.add(accrue::run_of(nullptr, size, accrue::scalar_id<float>()), static_cast<std::int32_t>(size), 4);
  std::vector<std::int64_t> begins;
  for (accrue::placement const& each : plan.placements) begins.push_back(each.begin);
  CHECK(begins == std::vector<std::int64_t>{0, 16, 16, 32, 64});
  CHECK(plan.words == 80);
  CHECK(plan.placements[3].group == 17);
  CHECK(plan.views() == 5);
}

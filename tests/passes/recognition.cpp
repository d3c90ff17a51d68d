// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/core/contribution.hpp>
#include <accrue/passes/recognition.hpp>
#include <accrue/passes/touch_table.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <optional>
#include <tuple>
#include <vector>

namespace {

using exec = Kokkos::DefaultExecutionSpace;
using array = Kokkos::View<float*>;
using finding = accrue::recognition<2>::finding;

/// Two items, of one view and of two.
struct model {
  std::tuple<array, std::vector<array>> items{array("a", 3), {array("b", 4), array("c", 5)}};
  accrue::recognition<2> memory;

  template <class... Gradients>
  finding look(int held, bool may_be_in_buffer, Gradients const&... gradients) {
    return memory.look(3, items, std::tuple(gradients...), held, may_be_in_buffer);
  }
  template <class... Gradients>
  void note(bool in_buffer, Gradients const&... gradients) {
    memory.note(items, std::tuple(gradients...), in_buffer);
  }
};

using many = std::vector<array>;

}  // namespace

template class accrue::recognition<3>;
template class accrue::touch_table<exec>;

TEST_CASE("glance: knows a view by type, place, extents and strides") {
  Kokkos::View<double**, Kokkos::LayoutStride> const all(Kokkos::View<double**, Kokkos::LayoutRight>("all", 6, 4));
  auto const part = [&](int rows, int columns) {
    return Kokkos::subview(all, Kokkos::pair(0, rows), Kokkos::pair(0, columns));
  };
  accrue::glance seen;
  CHECK(seen.is_nothing());
  seen.look_at(part(2, 3));
  CHECK(!seen.is_nothing());
  CHECK(seen.is(part(2, 3)));
  CHECK(!seen.is(part(3, 3)));
  CHECK(!seen.is(part(2, 2)));
  CHECK(!seen.is(Kokkos::subview(all, Kokkos::pair(1, 3), Kokkos::pair(0, 3))));
  using dense = Kokkos::View<double**, Kokkos::LayoutStride>;
  CHECK(!seen.is(dense(all.data(), Kokkos::LayoutStride(2, 3, 3, 1))));
  CHECK(!seen.is(Kokkos::View<float**, Kokkos::LayoutStride>(nullptr, Kokkos::LayoutStride(2, 3, 4, 1))));
}

TEST_CASE("recognition: a contribution is known once it was held, and under its number only") {
  model m;
  array const a("gradient", 3);
  many const bc{array("gradient", 4), array("gradient", 5)};
  CHECK(m.look(0, false, a, bc) == finding::unknown);
  m.note(false, a, bc);
  CHECK(m.look(0, false, a, bc) == finding::unknown);  // it was not held
  m.note(false, a, bc);
  m.memory.held_as(0);
  CHECK(m.look(0, false, a, bc) == finding::held_before);
  CHECK(m.look(1, false, a, bc) == finding::unknown);
  CHECK(m.look(0, false, array("gradient", 3), bc) == finding::unknown);
  CHECK(m.look(0, false, a, many{bc[1], bc[0]}) == finding::unknown);
  CHECK(m.look(0, false, a, many{bc[0]}) == finding::unknown);
  CHECK(m.look(0, false, a, many{bc[0], bc[1], bc[1]}) == finding::unknown);
  CHECK(m.look(0, false, a, bc) == finding::held_before);
}

TEST_CASE("recognition: what is absent is part of what is known") {
  model m;
  many const bc{array("gradient", 4), array("gradient", 5)};
  std::vector<std::optional<array>> const only_c{{}, bc[1]};
  CHECK(m.look(0, false, accrue::no_gradient, only_c) == finding::unknown);
  m.note(false, accrue::no_gradient, only_c);
  m.memory.held_as(0);
  CHECK(m.look(0, false, accrue::no_gradient, only_c) == finding::held_before);
  CHECK(m.look(0, false, std::optional<array>(), only_c) == finding::held_before);
  CHECK(m.look(0, false, std::optional<array>(array("gradient", 3)), only_c) == finding::unknown);
  CHECK(m.look(0, false, accrue::no_gradient, bc) == finding::unknown);
  CHECK(m.look(0, false, accrue::no_gradient, accrue::no_gradient) == finding::unknown);
}

TEST_CASE("recognition: another contribution under a number has the later ones checked again") {
  model m;
  many const bc{array("gradient", 4), array("gradient", 5)};
  array const a("gradient", 3), other("gradient", 3);
  auto const hold = [&](int number, array const& g) {
    static_cast<void>(m.look(number, false, g, bc));
    m.note(false, g, bc);
    m.memory.held_as(number);
  };
  hold(0, a);
  hold(1, other);
  CHECK(m.look(1, false, other, bc) == finding::held_before);
  hold(0, other);
  CHECK(m.look(1, false, other, bc) == finding::unknown);
  m.memory.look_at_none();
  m.memory.held_as(0);  // a contribution that names nothing
  CHECK(m.look(0, false, other, bc) == finding::unknown);
}

TEST_CASE("recognition: what lay in the buffer is known where it may lie there") {
  model m;
  array const a("lent", 3);
  many const bc{array("lent", 4), array("lent", 5)};
  CHECK(m.look(0, true, a, bc) == finding::unknown);
  m.note(true, a, bc);
  CHECK(m.memory.found() == finding::in_buffer);
  m.memory.left_in_buffer();
  CHECK(m.look(0, true, a, bc) == finding::in_buffer);
  m.memory.left_in_buffer();  // again: nothing is forgotten
  CHECK(m.memory.in_buffer(2));
  CHECK(m.look(0, false, a, bc) == finding::unknown);
}

TEST_CASE("touch_table: counts what is touched, and what waits for its weight") {
  accrue::touch_table<exec> table(exec{}, 3);
  CHECK(!table.any());
  table.touch(1, 512.0);
  CHECK(table.any());
  CHECK(table.is_touched(1));
  CHECK(table.keep(1) == 512.0);
  CHECK(table.keep(0) == 1.0);
  table.touch(0, 1.0);
  table.touch(2, 1.0);
  CHECK(table.all());
  CHECK(!table.settled());
  table.touch(1, 1.0);
  CHECK(table.settled());
  table.touch(2, 7.0);
  table.upload(exec{});
  table.forget();
  CHECK(!table.any());
  CHECK(!table.is_touched(2));
  CHECK(table.keep(2) == 1.0);
}

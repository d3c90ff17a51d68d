// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/core/contribution.hpp>
#include <accrue/passes/recognition.hpp>
#include <accrue/passes/touch_table.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
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
    return memory.look(items, std::tuple(gradients...), held, may_be_in_buffer);
  }
  template <class... Gradients>
  void hold(int number, Gradients const&... gradients) {
    static_cast<void>(look(number, false, gradients...));
    memory.hold(number);
  }
};

using many = std::vector<array>;

}  // namespace

template class accrue::recognition<3>;
template class accrue::touch_table<exec>;

TEST_CASE("glances: tell views apart by type, place, extents and strides") {
  Kokkos::View<double**, Kokkos::LayoutStride> const all(Kokkos::View<double**, Kokkos::LayoutRight>("all", 6, 4));
  auto const part = [&](int rows, int columns) {
    return Kokkos::subview(all, Kokkos::pair(0, rows), Kokkos::pair(0, columns));
  };
  auto const seen = [](auto const&... views) {
    accrue::glances all_of_them;
    (all_of_them.add(views), ...);
    return all_of_them;
  };
  accrue::glances const known = seen(part(2, 3));
  CHECK(known == seen(part(2, 3)));
  CHECK(known != seen(part(3, 3)));
  CHECK(known != seen(part(2, 2)));
  CHECK(known != seen(Kokkos::subview(all, Kokkos::pair(1, 3), Kokkos::pair(0, 3))));
  using dense = Kokkos::View<double**, Kokkos::LayoutStride>;
  CHECK(known != seen(dense(all.data(), Kokkos::LayoutStride(2, 3, 3, 1))));
  using floats = Kokkos::View<float**, Kokkos::LayoutStride>;
  CHECK(known != seen(floats(reinterpret_cast<float*>(all.data()), Kokkos::LayoutStride(2, 4, 3, 1))));
  CHECK(known != seen(part(2, 3), part(2, 3)));
  accrue::glances one_absent = known;
  one_absent.add_absent();
  CHECK(known != one_absent);
  CHECK(one_absent.has(0));
  CHECK(!one_absent.has(1));
}

TEST_CASE("recognition: a contribution is known once it was held, and under its number only") {
  model m;
  array const a("gradient", 3);
  many const bc{array("gradient", 4), array("gradient", 5)};
  CHECK(m.look(0, false, a, bc) == finding::unknown);
  CHECK(m.look(0, false, a, bc) == finding::unknown);  // it was not held
  m.memory.hold(0);
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
  m.hold(0, accrue::no_gradient, only_c);
  CHECK(m.look(0, false, accrue::no_gradient, only_c) == finding::held_before);
  CHECK(m.look(0, false, std::optional<array>(), only_c) == finding::held_before);
  CHECK(m.look(0, false, std::optional<array>(array("gradient", 3)), only_c) == finding::unknown);
  CHECK(m.look(0, false, accrue::no_gradient, bc) == finding::unknown);
  CHECK(m.look(0, false, accrue::no_gradient, accrue::no_gradient) == finding::unknown);
}

TEST_CASE("recognition: as many contributions as a loop goes round between keep their slots; the oldest gives way") {
  model m;
  many const bc{array("gradient", 4), array("gradient", 5)};
  std::vector<array> a;
  for (std::size_t i = 0; i <= accrue::remembered; ++i) a.emplace_back("gradient", 3);
  auto const last = accrue::remembered;
  for (std::size_t i = 0; i < last; ++i) m.hold(0, a[i], bc);
  for (std::size_t i = 0; i < last; ++i) {
    CHECK(m.look(0, false, a[i], bc) == finding::held_before);
    CHECK(m.memory.hold(0) == i);
  }
  CHECK(m.look(0, false, a[0], bc) == finding::held_before);
  m.memory.hold(0);
  m.hold(0, a[last], bc);  // in place of a[1]
  CHECK(m.look(0, false, a[0], bc) == finding::held_before);
  CHECK(m.look(0, false, a[1], bc) == finding::unknown);
  CHECK(m.look(0, false, a[last], bc) == finding::held_before);
}

TEST_CASE("recognition: a contribution is checked again beside others than before") {
  model m;
  many const bc{array("gradient", 4), array("gradient", 5)};
  array const a("gradient", 3), other("gradient", 3), third("gradient", 3);
  m.hold(0, a, bc);
  std::int64_t const identity = m.memory.identity(0);
  m.hold(1, other, bc);
  CHECK(m.memory.identity(1) != identity);
  CHECK(m.look(1, false, other, bc) == finding::held_before);
  m.hold(0, third, bc);
  CHECK(m.look(1, false, other, bc) == finding::unknown);
  m.hold(0, a, bc);
  CHECK(m.memory.identity(0) == identity);
  CHECK(m.look(1, false, other, bc) == finding::held_before);
  m.memory.forget_look();
  m.memory.hold(0);  // a contribution that names nothing
  CHECK(m.look(1, false, other, bc) == finding::unknown);
  CHECK(m.look(0, false, a, bc) == finding::held_before);
}

TEST_CASE("recognition: what lay in the buffer is known where it may lie there") {
  model m;
  array const a("lent", 3);
  std::vector<std::optional<array>> const only_c{{}, array("lent", 5)};
  CHECK(m.look(0, true, a, only_c) == finding::unknown);
  m.memory.note_in_buffer();
  CHECK(m.memory.found() == finding::in_buffer);
  m.memory.left_in_buffer();
  CHECK(m.look(0, true, a, only_c) == finding::in_buffer);
  m.memory.left_in_buffer();  // again: nothing is forgotten
  CHECK(m.memory.in_buffer(0));
  CHECK(!m.memory.in_buffer(1));
  CHECK(m.memory.in_buffer(2));
  CHECK(m.look(0, true, a, only_c) == finding::in_buffer);
  CHECK(m.look(0, false, a, only_c) == finding::unknown);
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

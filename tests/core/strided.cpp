// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where elements lie: fold and offset against the view's own arithmetic, overlap against sets of bytes.
#include <accrue/core/finalized_gradient.hpp>
#include <accrue/core/storage_overlap.hpp>
#include <accrue/core/strided.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using accrue::strided;
using accrue::view_shape;

template <std::size_t Rank, class Layout>
using view_of_rank = Kokkos::View<typename accrue::detail::with_pointers<float, Rank>::type, Layout, Kokkos::HostSpace>;

class dice {
 public:
  std::size_t up_to(std::size_t n) { return engine_() % (n + 1); }
  template <class Range>
  void shuffle(Range& range) {
    for (std::size_t i = range.size(); i > 1; --i) std::swap(range[i - 1], range[up_to(i - 1)]);
  }

 private:
  std::mt19937 engine_{20260802};
};

template <std::size_t Rank>
using indices = std::array<std::size_t, Rank>;

/// Axes in any order, with gaps after some of them.
template <std::size_t Rank>
Kokkos::LayoutStride any_layout(dice& random, indices<Rank> const& extents) {
  std::array<std::size_t, Rank> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  Kokkos::LayoutStride layout;
  std::size_t stride = 1 + random.up_to(3) / 3;
  for (std::size_t axis : order) {
    layout.dimension[axis] = extents[axis];
    layout.stride[axis] = stride;
    stride = stride * std::max<std::size_t>(extents[axis], 1) + random.up_to(3) / 3;
  }
  return layout;
}

template <class View, std::size_t... R>
auto make(dice& random, std::array<std::size_t, sizeof...(R)> const& extents, std::index_sequence<R...>) {
  if constexpr (std::is_same_v<typename View::array_layout, Kokkos::LayoutStride>)
    return View("view", any_layout<sizeof...(R)>(random, extents));
  else
    return View("view", extents[R]...);
}

template <class View, std::size_t... R>
std::int64_t distance(View const& view, std::array<std::size_t, sizeof...(R)> const& at, std::index_sequence<R...>) {
  return &view(at[R]...) - view.data();
}

/// Visits all indices, those of the axis `order[0]` slowest.
template <std::size_t Rank, class Visit>
void visit_in_order(indices<Rank> const& extents, accrue::index_order const& order, Visit visit) {
  std::int64_t const total =
      std::accumulate(extents.begin(), extents.end(), std::int64_t{1},
                      [](std::int64_t product, std::size_t n) { return product * static_cast<std::int64_t>(n); });
  indices<Rank> at{};
  for (std::int64_t i = 0; i < total; ++i) {
    visit(i, at);
    for (std::size_t r = Rank; r-- > 0;) {
      auto const axis = static_cast<std::size_t>(order[r]);
      if (++at[axis] < extents[axis]) break;
      at[axis] = 0;
    }
  }
}

/// Elements that fold and offset put elsewhere than the view does, among random extents.
template <std::size_t Rank, class ParameterLayout, class GradientLayout>
int misplaced(dice& random) {
  constexpr std::make_index_sequence<Rank> axes{};
  int wrong = 0;
  for (int trial = 0; trial < 25; ++trial) {
    indices<Rank> extents{};
    for (std::size_t& n : extents) n = random.up_to(30) == 0 ? 0 : 1 + random.up_to(Rank > 4 ? 1 : 3);
    auto const parameter = make<view_of_rank<Rank, ParameterLayout>>(random, extents, axes);
    auto const gradient = make<view_of_rank<Rank, GradientLayout>>(random, extents, axes);
    auto const order = accrue::order_in_memory(accrue::shape_of(parameter));
    strided const folded = accrue::fold(accrue::shape_of(gradient), order, gradient.data(), 7);
    view_shape const dense = accrue::packed(accrue::shape_of(parameter), order);
    strided const folded_dense = accrue::fold(dense, order, nullptr, 7);

    wrong += folded.size != static_cast<std::int64_t>(gradient.size());
    wrong += folded.data != gradient.data() || folded.scalar != 7;
    wrong += dense.size() > 0 && !folded_dense.contiguous();
    visit_in_order<Rank>(extents, order, [&](std::int64_t i, indices<Rank> const& at) {
      wrong += folded.offset(i) != distance(gradient, at, axes);
      wrong += folded.contiguous() && folded.offset(i) != i;
      std::int64_t place = 0;
      for (std::size_t r = 0; r < Rank; ++r) place += static_cast<std::int64_t>(at[r]) * dense.stride[r];
      wrong += place != i;
    });
  }
  return wrong;
}

using left = Kokkos::LayoutLeft;
using right = Kokkos::LayoutRight;
using any = Kokkos::LayoutStride;

template <std::size_t Rank>
int misplaced_in_all_layouts() {
  dice random;
  return misplaced<Rank, right, right>(random) + misplaced<Rank, right, left>(random) +
         misplaced<Rank, left, any>(random) + misplaced<Rank, any, right>(random) + misplaced<Rank, any, any>(random);
}

view_shape shape(std::vector<std::int64_t> const& extents, std::vector<std::int64_t> const& strides) {
  view_shape made;
  made.rank = static_cast<int>(extents.size());
  std::copy(extents.begin(), extents.end(), made.extent.begin());
  std::copy(strides.begin(), strides.end(), made.stride.begin());
  return made;
}

/// A view that is nowhere: addresses are compared, never followed.
strided at_address(std::uintptr_t address, view_shape const& s) {
  return accrue::fold(s, accrue::order_in_memory(s), reinterpret_cast<void*>(address), 0);
}

std::set<std::uintptr_t> bytes_of(std::uintptr_t address, view_shape const& s, std::size_t element_bytes,
                                  bool& repeats) {
  std::vector<std::uintptr_t> starts{address};
  for (std::size_t r = 0; r < static_cast<std::size_t>(s.rank); ++r) {
    std::vector<std::uintptr_t> next;
    for (std::uintptr_t start : starts)
      for (std::int64_t i = 0; i < s.extent[r]; ++i)
        next.push_back(start + static_cast<std::uintptr_t>(i * s.stride[r]) * element_bytes);
    starts = next;
  }
  std::set<std::uintptr_t> bytes;
  for (std::uintptr_t start : starts)
    for (std::size_t b = 0; b < element_bytes; ++b) bytes.insert(start + b);
  repeats = bytes.size() < starts.size() * element_bytes;
  return bytes;
}

view_shape random_shape(dice& random) {
  view_shape s;
  s.rank = static_cast<int>(random.up_to(3));
  for (std::size_t r = 0; r < static_cast<std::size_t>(s.rank); ++r) {
    s.extent[r] = static_cast<std::int64_t>(random.up_to(4));
    s.stride[r] = static_cast<std::int64_t>(random.up_to(9));
  }
  return s;
}

}  // namespace

TEST_CASE("strided: element i lies where the view says, for every rank, layout, order of axes and gap") {
  CHECK(misplaced_in_all_layouts<1>() == 0);
  CHECK(misplaced_in_all_layouts<2>() == 0);
  CHECK(misplaced_in_all_layouts<3>() == 0);
  CHECK(misplaced_in_all_layouts<4>() == 0);
  CHECK(misplaced_in_all_layouts<8>() == 0);
}

TEST_CASE("strided: a view of rank 0 is one element") {
  Kokkos::View<float, Kokkos::HostSpace> const one("one");
  auto const folded =
      accrue::fold(accrue::shape_of(one), accrue::order_in_memory(accrue::shape_of(one)), one.data(), 0);
  CHECK(folded.size == 1);
  CHECK(folded.rank == 0);
  CHECK(folded.contiguous());
  CHECK(folded.offset(0) == 0);
}

TEST_CASE("strided: what is evenly spaced folds into one axis") {
  auto const folded = [](view_shape const& s) { return at_address(4096, s); };
  CHECK(folded(shape({2, 3, 4}, {12, 4, 1})).contiguous());
  CHECK(folded(shape({2, 3, 4}, {1, 2, 6})).contiguous());
  CHECK(folded(shape({1, 3, 1}, {99, 1, 7})).contiguous());  // where an axis of extent 1 would go does not matter

  strided const every_other = folded(shape({3, 4}, {8, 2}));
  CHECK(every_other.rank == 1);
  CHECK(every_other.axes[0] == strided::axis{12, 2});
  CHECK(!every_other.contiguous());

  strided const rows_with_gaps = folded(shape({2, 3, 4}, {15, 5, 1}));
  CHECK(rows_with_gaps.rank == 2);
  CHECK(rows_with_gaps.axes[0] == strided::axis{6, 5});
  CHECK(rows_with_gaps.axes[1] == strided::axis{4, 1});
}

TEST_CASE("strided: an element that stands for a whole axis is found at each of its indices") {
  strided const row_for_all = at_address(4096, shape({3, 4}, {0, 1}));
  view_shape const s = shape({3, 4}, {0, 1});
  strided const by_rows = accrue::fold(s, {0, 1}, nullptr, 0);
  for (std::int64_t i = 0; i < 12; ++i) CHECK(by_rows.offset(i) == i % 4);
  CHECK(row_for_all.size == 12);
}

TEST_CASE("strided: extents are equal by rank and number, whatever the strides") {
  CHECK(shape({2, 3}, {3, 1}).same_extents(shape({2, 3}, {1, 2})));
  CHECK(!shape({2, 3}, {3, 1}).same_extents(shape({3, 2}, {2, 1})));
  CHECK(!shape({2, 3}, {3, 1}).same_extents(shape({6}, {1})));
  CHECK(!shape({2}, {1}).same_extents(shape({2, 1}, {1, 1})));
  CHECK(shape({}, {}).size() == 1);
  CHECK(shape({3000000, 3000000}, {3000000, 1}).size() == 9000000000000);
}

TEST_CASE("strided: a layout of the same shape addresses the same elements") {
  dice random;
  indices<3> const extents{2, 3, 4};
  auto const view = make<view_of_rank<3, any>>(random, extents, std::make_index_sequence<3>{});
  view_of_rank<3, any> const again(view.data(), accrue::layout_as<Kokkos::LayoutStride>(accrue::shape_of(view)));
  CHECK(&again(1, 2, 3) == &view(1, 2, 3));
  CHECK(again.extent(2) == 4);
}

TEST_CASE("storage_overlap: two views share elements exactly when they share bytes") {
  dice random;
  int wrong = 0, shared = 0, apart = 0, wrong_repeats = 0, repeats = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    view_shape const a = random_shape(random), b = random_shape(random);
    std::size_t const bytes_a = 4 + 4 * random.up_to(1), bytes_b = 4 + 4 * random.up_to(1);
    std::uintptr_t const address_a = 4096 + 4 * random.up_to(40), address_b = 4096 + 4 * random.up_to(40);
    bool repeats_a = false, repeats_b = false;
    auto const set_a = bytes_of(address_a, a, bytes_a, repeats_a);
    auto const set_b = bytes_of(address_b, b, bytes_b, repeats_b);
    bool const common =
        std::any_of(set_a.begin(), set_a.end(), [&](std::uintptr_t byte) { return set_b.count(byte) > 0; });
    strided const view_a = at_address(address_a, a), view_b = at_address(address_b, b);
    wrong += accrue::share_elements(view_a, bytes_a, view_b, bytes_b) != common;
    wrong += accrue::share_elements(view_b, bytes_b, view_a, bytes_a) != common;
    (common ? shared : apart) += set_a.empty() || set_b.empty() ? 0 : 1;
    wrong_repeats += accrue::repeats_elements(view_a) != repeats_a;
    repeats += repeats_a;
  }
  CHECK(wrong == 0);
  CHECK(shared > 1000);  // the trials were not all of one kind
  CHECK(apart > 1000);
  CHECK(wrong_repeats == 0);
  CHECK(repeats > 1000);
}

TEST_CASE("storage_overlap: interleaved rows do not overlap, the same row does") {
  Kokkos::View<float**, right, Kokkos::HostSpace> const rows("rows", 4, 6);
  auto const of = [&](auto const& view) {
    return accrue::fold(accrue::shape_of(view), accrue::order_in_memory(accrue::shape_of(view)), view.data(), 0);
  };
  using Kokkos::ALL;
  auto const column = [&](std::size_t c) { return of(Kokkos::subview(rows, ALL, c)); };
  auto const half = [&](std::size_t from, std::size_t to) {
    return of(Kokkos::subview(rows, ALL, std::pair(from, to)));
  };
  CHECK(!accrue::share_elements(column(0), 4, column(1), 4));
  CHECK(accrue::share_elements(column(2), 4, column(2), 4));
  CHECK(!accrue::share_elements(half(0, 3), 4, half(3, 6), 4));
  CHECK(accrue::share_elements(half(0, 3), 4, half(2, 5), 4));
  CHECK(accrue::share_elements(of(rows), 4, column(5), 4));
  CHECK(!accrue::share_elements(of(rows), 4, strided{}, 4));
}

TEST_CASE("storage_overlap: strides of any order and gap repeat nothing; a stride of 0 and sliding windows do") {
  dice random;
  for (int trial = 0; trial < 200; ++trial) {
    indices<3> const extents{1 + random.up_to(3), 1 + random.up_to(3), 1 + random.up_to(3)};
    auto const view = make<view_of_rank<3, any>>(random, extents, std::make_index_sequence<3>{});
    auto const s = accrue::shape_of(view);
    CHECK(!accrue::repeats_elements(at_address(4096, s)));
  }
  CHECK(accrue::repeats_elements(at_address(4096, shape({3}, {0}))));
  CHECK(accrue::repeats_elements(at_address(4096, shape({2, 3}, {0, 1}))));
  CHECK(accrue::repeats_elements(at_address(4096, shape({4, 3}, {1, 1}))));
  CHECK(!accrue::repeats_elements(at_address(4096, shape({3, 2}, {2, 3}))));  // 0 2 4 and 3 5 7
  CHECK(!accrue::repeats_elements(at_address(4096, shape({1, 3}, {0, 1}))));  // one row of one
  CHECK(!accrue::repeats_elements(at_address(4096, shape({0, 3}, {0, 0}))));  // nothing there
  CHECK(!accrue::repeats_elements(at_address(4096, shape({}, {}))));
}

TEST_CASE("storage_overlap: a span begins at the first element and ends after the last") {
  auto const span = accrue::detail::span_of(at_address(4096, shape({2, 3}, {10, 2})), 8);
  CHECK(span.begin == 4096);
  CHECK(span.end == 4096 + (10 + 4 + 1) * 8);
  auto const none = accrue::detail::span_of(at_address(4096, shape({0, 3}, {3, 1})), 8);
  CHECK(none.begin == none.end);
}

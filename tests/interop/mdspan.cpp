// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/interop/mdspan.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <array>
#include <complex>
#include <cstddef>
#include <numeric>
#include <string>
#include <type_traits>
#include <version>

#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

namespace {

// The mdspan that Kokkos brings along, and that of the standard library where there is one: the same claims hold.
struct of_kokkos {
  template <class T, class Extents, class Layout = Kokkos::layout_right>
  using span = Kokkos::mdspan<T, Extents, Layout>;
  template <int Rank>
  using extents = Kokkos::dextents<int, Rank>;
  template <int N>
  using fixed = Kokkos::extents<std::size_t, N, Kokkos::dynamic_extent>;
  using left = Kokkos::layout_left;
  using strided = Kokkos::layout_stride;
};
#ifdef __cpp_lib_mdspan
struct of_the_standard {
  template <class T, class Extents, class Layout = std::layout_right>
  using span = std::mdspan<T, Extents, Layout>;
  template <int Rank>
  using extents = std::dextents<int, Rank>;
  template <int N>
  using fixed = std::extents<std::size_t, N, std::dynamic_extent>;
  using left = std::layout_left;
  using strided = std::layout_stride;
};
#define MDSPANS of_kokkos, of_the_standard
#else
#define MDSPANS of_kokkos
#endif

template <class Call>
std::string what(Call call) {
  try {
    call();
  } catch (accrue::error const& e) {
    return e.what();
  }
  return "nothing thrown";
}

// A layout of somebody else's, whose strides may be anything.
struct anyhow {
  template <class Extents>
  struct mapping {
    using extents_type = Extents;
    using index_type = typename Extents::index_type;
    using size_type = typename Extents::size_type;
    using rank_type = typename Extents::rank_type;
    using layout_type = anyhow;

    Extents sizes;
    index_type apart = 1;

    constexpr Extents const& extents() const { return sizes; }
    constexpr index_type required_span_size() const { return 16; }
    constexpr index_type operator()(index_type i) const { return i * apart; }
    constexpr index_type stride(rank_type) const { return apart; }
    static constexpr bool is_always_unique() { return true; }
    static constexpr bool is_always_exhaustive() { return false; }
    static constexpr bool is_always_strided() { return true; }
    static constexpr bool is_unique() { return true; }
    static constexpr bool is_exhaustive() { return false; }
    static constexpr bool is_strided() { return true; }
  };
};

}  // namespace

TEST_CASE_TEMPLATE("a view of an mdspan has its elements, index by index", Of, MDSPANS) {
  std::array<double, 6> memory;
  std::iota(memory.begin(), memory.end(), 1.0);

  typename Of::template span<double, typename Of::template extents<2>> const rows(memory.data(), 2, 3);
  auto const by_row = accrue::from_mdspan(rows);
  static_assert(std::is_same_v<typename decltype(by_row)::value_type, double> && decltype(by_row)::rank() == 2);
  CHECK(by_row(1, 0) == 4.0);

  typename Of::template span<double, typename Of::template extents<2>, typename Of::left> const columns(memory.data(),
                                                                                                        2, 3);
  auto const by_column = accrue::from_mdspan(columns);
  CHECK(by_column(1, 0) == 2.0);
  CHECK(by_column(0, 2) == 5.0);

  typename Of::template span<double const, typename Of::template fixed<2>> const fixed(memory.data(), 3u);
  auto const constant = accrue::from_mdspan(fixed);
  static_assert(std::is_same_v<typename decltype(constant)::value_type, double const>);
  CHECK(constant.extent(0) == 2);
  CHECK(constant(1, 2) == 6.0);
}

TEST_CASE_TEMPLATE("P-072: so has a view of a strided mdspan, and what is written stays between the gaps", Of,
                   MDSPANS) {
  using extents = typename Of::template extents<1>;
  using span = typename Of::template span<double, extents, typename Of::strided>;
  std::array<double, 12> memory;  // a(i, j) = 10 i + j, 3 x 4, by columns; row 1 has the stride 3
  for (std::size_t k = 0; k != 12; ++k) memory[k] = static_cast<double>(10 * (k % 3) + k / 3);
  std::array<double, 12> expected = memory;

  span const row(memory.data() + 1, typename Of::strided::template mapping<extents>(extents(4), std::array<int, 1>{3}));
  auto const view = accrue::from_mdspan(row);
  for (std::size_t j = 0; j != 4; ++j) {
    CHECK(view(j) == 10.0 + static_cast<double>(j));
    view(j) *= 2.0;
    expected[1 + 3 * j] *= 2.0;
  }
  CHECK(memory == expected);
}

TEST_CASE("a subspan keeps its strides") {
  // [mdspan]
  std::array<float, 12> memory{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23};
  Kokkos::mdspan<float, Kokkos::dextents<int, 2>> const matrix(memory.data(), 3, 4);
  auto const view = accrue::from_mdspan(matrix);  // a Kokkos view of the same rank
  // [/mdspan]
  CHECK(view(1, 2) == 12.0f);
  auto const column = accrue::from_mdspan(Kokkos::submdspan(matrix, Kokkos::full_extent, 2));
  static_assert(decltype(column)::rank() == 1);
  CHECK(column(0) == 2.0f);
  CHECK(column(2) == 22.0f);
}

TEST_CASE("rank 0, rank 8 and extents of 0 are views as well") {
  double x = 2.0;
  auto const scalar = accrue::from_mdspan(Kokkos::mdspan<double, Kokkos::extents<int>>(&x));
  static_assert(decltype(scalar)::rank() == 0);
  scalar() += 1.0;
  CHECK(x == 3.0);

  auto const eight = accrue::from_mdspan(
      Kokkos::mdspan<double, Kokkos::dextents<int, 8>>(&x, std::array<int, 8>{1, 1, 1, 1, 1, 1, 1, 1}));
  CHECK(eight(0, 0, 0, 0, 0, 0, 0, 0) == 3.0);

  Kokkos::mdspan<double, Kokkos::dextents<int, 2>> const empty(nullptr, 3, 0);
  CHECK(accrue::from_mdspan(empty).extent(0) == 3);
  CHECK(accrue::from_mdspan(empty).size() == 0);
}

TEST_CASE("complex numbers of the standard are seen as those of Kokkos") {
  alignas(16) std::array<std::complex<double>, 2> memory{{{1, 2}, {3, 4}}};
  auto const view =
      accrue::from_mdspan(Kokkos::mdspan<std::complex<double>, Kokkos::dextents<int, 1>>(memory.data(), 2));
  static_assert(std::is_same_v<decltype(view)::value_type, Kokkos::complex<double>>);
  CHECK(view(1).imag() == 4.0);
}

TEST_CASE("an mdspan that cannot be a view says so") {
  double* const none = nullptr;
  CHECK(what([&] {
          (void)accrue::from_mdspan(Kokkos::mdspan<double, Kokkos::dextents<int, 1>>(none, 4));
        }).find("accrue::from_mdspan: the pointer is null; ") == 0);

  using extents = Kokkos::dextents<int, 1>;
  std::array<double, 16> memory{};
  auto const apart = [&](auto* pointer, int elements) {
    using element = std::remove_pointer_t<decltype(pointer)>;
    return Kokkos::mdspan<element, extents, anyhow>(pointer, anyhow::mapping<extents>{extents(4), elements});
  };
  CHECK(accrue::from_mdspan(apart(memory.data(), 2)).stride(0) == 2);
  CHECK(what([&] {
          (void)accrue::from_mdspan(apart(memory.data() + 12, -2));
        }).find("accrue::from_mdspan: a stride is negative; ") == 0);
  CHECK(what([&] {
          (void)accrue::from_mdspan(apart(memory.data(), 0));
        }).find("accrue::from_mdspan: a stride is 0; ") == 0);
  CHECK(accrue::from_mdspan(apart(static_cast<double const*>(memory.data()), 0)).stride(0) == 0);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix products of Kokkos views in any layout, fast enough to train small models without a BLAS.
#ifndef ACCRUE_EXAMPLES_SUPPORT_MATRIX_PRODUCT_HPP
#define ACCRUE_EXAMPLES_SUPPORT_MATRIX_PRODUCT_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>

namespace examples {

/// Reads a matrix the other way round, without a copy.
template <class View>
struct transposed {
  View matrix;

  explicit transposed(View const& of) : matrix(of) {}

  KOKKOS_FUNCTION decltype(auto) operator()(int i, int j) const { return matrix(j, i); }
  KOKKOS_FUNCTION int extent(std::size_t dimension) const { return static_cast<int>(matrix.extent(1 - dimension)); }
};

/// One tile of c = a * b for each index; the sums of a tile stay in registers.
template <int Rows, int Columns, class A, class B, class C>
struct matrix_product_tile {
  A a;
  B b;
  C c;
  int tiles_down;

  KOKKOS_FUNCTION void operator()(int tile) const {
    int const row = tile % tiles_down * Rows;
    int const column = tile / tiles_down * Columns;
    int const rows = static_cast<int>(c.extent(0)) - row;
    int const columns = static_cast<int>(c.extent(1)) - column;
    if (rows >= Rows && columns >= Columns)
      whole(row, column);
    else
      cut(row, column, Kokkos::min(rows, Rows), Kokkos::min(columns, Columns));
  }

  /// Both inner loops have constant bounds, which is what lets a compiler unroll and vectorise them.
  KOKKOS_FUNCTION void whole(int row, int column) const {
    typename C::non_const_value_type sum[Rows][Columns] = {};
    int const depth = static_cast<int>(a.extent(1));
    for (int k = 0; k < depth; ++k)
      for (int j = 0; j < Columns; ++j) {
        auto const right = b(k, column + j);
        for (int i = 0; i < Rows; ++i) sum[i][j] += a(row + i, k) * right;
      }
    for (int i = 0; i < Rows; ++i)
      for (int j = 0; j < Columns; ++j) c(row + i, column + j) = sum[i][j];
  }

  /// A tile at the lower or right edge.
  KOKKOS_FUNCTION void cut(int row, int column, int rows, int columns) const {
    int const depth = static_cast<int>(a.extent(1));
    for (int i = row; i < row + rows; ++i)
      for (int j = column; j < column + columns; ++j) {
        typename C::non_const_value_type sum = 0;
        for (int k = 0; k < depth; ++k) sum += a(i, k) * b(k, j);
        c(i, j) = sum;
      }
  }
};

/// c = a * b. Each entry is summed by one thread in order, so the result is the same bits on every run.
///
/// On a host a thread takes tiles of 4 by 16; on a GPU it takes one entry, and neighbours in a column are neighbours
/// in a warp.
template <class Exec, class A, class B, class C>
void matrix_product(Exec const& exec, A const& a, B const& b, C const& c) {
  constexpr bool host = Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible;
  constexpr int rows = host ? 4 : 1;
  constexpr int columns = host ? 16 : 1;
  int const tiles_down = (static_cast<int>(c.extent(0)) + rows - 1) / rows;
  int const tiles_across = (static_cast<int>(c.extent(1)) + columns - 1) / columns;
  Kokkos::parallel_for("examples::matrix_product",
                       Kokkos::RangePolicy<Exec, Kokkos::IndexType<int>>(exec, 0, tiles_down * tiles_across),
                       matrix_product_tile<rows, columns, A, B, C>{a, b, c, tiles_down});
}

}  // namespace examples
#endif

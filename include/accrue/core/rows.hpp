// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_ROWS_HPP
#define ACCRUE_CORE_ROWS_HPP

#include <Kokkos_Core.hpp>
#include <type_traits>

namespace accrue {

/// A parameter's gradient that has few rows, as an embedding's has: `values(k, ...)` is added to row `indices(k)`.
///
/// Guarantee: a row that is named several times gets the sum. On a host the sum has the same bits for any number of
/// threads; on a device rows that meet are added atomically, in no fixed order. Cost: reads and writes the rows that
/// are named; the first touch of a group writes zero to the others. Failure: `accrue::error` for an index outside of
/// the parameter, where the host can read it; on a device such an index makes the group non-finite, so that it is
/// skipped. Example: `group.accumulate(accrue::mean_gradient{accrue::rows(words, vectors), dw}, accrue::tokens{512});`
template <class Indices, class Values>
struct rows {
  Indices indices;  ///< of rank 1, integers
  Values values;    ///< of the parameter's rank; its first extent is that of the indices

  rows(Indices which, Values what) : indices(which), values(what) {}
};
template <class Indices, class Values>
rows(Indices, Values) -> rows<Indices, Values>;

template <class T>
inline constexpr bool is_rows_v = false;
template <class Indices, class Values>
inline constexpr bool is_rows_v<rows<Indices, Values>> = Kokkos::is_view_v<Indices>&& Kokkos::is_view_v<Values>;

/// Whether the indices are numbers that an instance of `Exec` can read, one for each row of values.
template <class Exec, class T>
inline constexpr bool rows_readable_v = false;
template <class Exec, class Indices, class Values>
inline constexpr bool rows_readable_v<Exec, rows<Indices, Values>> =
    std::is_integral_v<typename Indices::non_const_value_type>&& Indices::rank() == 1 && Values::rank() >= 1 &&
    bool(Kokkos::SpaceAccessibility<Exec, typename Indices::memory_space>::accessible);

}  // namespace accrue
#endif

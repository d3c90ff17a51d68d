// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_ADD_ROWS_HPP
#define ACCRUE_PASSES_ADD_ROWS_HPP

#include <accrue/core/device_array.hpp>
#include <accrue/core/error.hpp>
#include <accrue/core/rows.hpp>
#include <accrue/core/scalar_id.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/passes/view_directory.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>

namespace accrue {

/// Makes the sums of a view ready for rows: zero at the first touch of a group, else what they are still to be
/// multiplied by is settled.
template <class B>
struct prepare_sums {
  B* sums;
  real_t<B> keep;
  bool overwrites;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { sums[i] = overwrites ? B{} : sums[i] * keep; }
};

/// Adds rows of gradients of scalar `G` to those rows of the sums that indices name.
///
/// Order: on a host every thread takes some columns of all rows, so that rows that meet are added in their order; on a
/// device every element is a thread's, and they are added atomically.
template <class G, class B, class Index>
struct row_addition {
  Index const* indices;
  std::int64_t index_stride;
  std::int64_t count;
  std::int64_t rows;  ///< of the parameter
  strided values;     ///< one row of them
  std::int64_t value_row_stride;
  strided sums;
  std::int64_t sum_row_stride;
  real_t<B> weight;
  std::int64_t threads;

  /// Columns of the s-th of `threads` shares, on a host.
  KOKKOS_FUNCTION void operator()(std::int64_t s) const {
    std::int64_t const begin = values.size * s / threads;
    std::int64_t const end = values.size * (s + 1) / threads;
    bool const dense = values.contiguous() && sums.contiguous();
    for (std::int64_t k = 0; k < count; ++k) {
      G const* const from = values_of(k);
      B* const to = sums_of(static_cast<std::int64_t>(indices[k * index_stride]));
      if (dense) {
        for (std::int64_t j = begin; j < end; ++j) to[j] += B(widen(from[j])) * weight;
      } else {
        for (std::int64_t j = begin; j < end; ++j) to[sums.offset(j)] += B(widen(from[values.offset(j)])) * weight;
      }
    }
  }

  /// One element, on a device. An index outside of the parameter spoils a sum, so that the group is skipped.
  struct by_element {
    row_addition pass;
    KOKKOS_FUNCTION void operator()(std::int64_t i) const {
      std::int64_t const k = i / pass.values.size;
      std::int64_t const j = i % pass.values.size;
      auto const row = static_cast<std::int64_t>(pass.indices[k * pass.index_stride]);
      bool const there = row >= 0 && row < pass.rows;
      B const gradient = there ? B(widen(pass.values_of(k)[pass.values.offset(j)])) * pass.weight
                               : B(Kokkos::Experimental::quiet_NaN_v<real_t<B>>);
      if (pass.rows > 0) Kokkos::atomic_add(pass.sums_of(there ? row : 0) + pass.sums.offset(j), gradient);
    }
  };

  [[nodiscard]] KOKKOS_FUNCTION G const* values_of(std::int64_t k) const {
    return static_cast<G const*>(values.data) + k * value_row_stride;
  }
  [[nodiscard]] KOKKOS_FUNCTION B* sums_of(std::int64_t row) const {
    return static_cast<B*>(sums.data) + row * sum_row_stride;
  }
};

/// Checks rows against the parameter that is number `view`, whose sums begin at `sums`.
///
/// Failure: `accrue::error` for other extents, for rows without memory or in that of the parameter or its sums, and for
/// an index outside of the parameter where the host can read them. Cost: reads the indices there.
template <class Exec, class Rows>
void check_rows_of(view_directory const& directory, std::size_t view, void const* sums, Rows const& given) {
  view_shape const parameter = directory[view].shape;
  view_shape const values = shape_of(given.values);
  auto const count = static_cast<std::int64_t>(given.indices.extent(0));
  if (values.extent[0] != count || !row_of(values).same_extents(row_of(parameter)))
    throw error(joined({"accrue: the rows for ", directory.name(view), " do not fit it"}),
                "each index names a row, and each row has one index",
                "hand over as many indices as rows, of the parameter's extents but the first");
  if (values.size() > 0 && (given.values.data() == nullptr || given.indices.data() == nullptr))
    throw error(joined({"accrue: the rows for ", directory.name(view), " were never allocated"}),
                "there is nothing to add", "write accrue::no_gradient where a parameter has none");
  if (values.size() > 0 && (given.values.data() == directory[view].storage.data || given.values.data() == sums))
    throw error(joined({"accrue: the rows for ", directory.name(view), " lie in the parameter itself, or in its sums"}),
                "they would be added to themselves", "hand over the view that they were written to");
  if constexpr (runs_on_host_v<Exec>) {
    for (std::int64_t k = 0; k < count; ++k) {
      auto const index = given.indices(static_cast<std::size_t>(k));
      if (index < 0 || static_cast<std::uint64_t>(index) >= static_cast<std::uint64_t>(parameter.extent[0]))
        throw error(joined({"accrue: index ", std::to_string(index), " names no row of ", directory.name(view),
                            ", which has ", std::to_string(parameter.extent[0])}),
                    "its gradient would be written elsewhere", "check the indices");
    }
  }
}

/// Launches what adds rows to the sums of a view, which begin at `sums`; `weight` is the microbatch's, `keep` what the
/// sums are still to be multiplied by.
template <class Exec, class Rows, class B>
void launch_add_rows(Exec const& exec, directory_entry const& parameter, Rows const& given, B* sums, double weight,
                     double keep, bool overwrites) {
  using G = typename decltype(given.values)::non_const_value_type;
  using index_type = typename decltype(given.indices)::non_const_value_type;
  using range = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  std::int64_t const size = parameter.shape.size();
  if (size > 0 && (overwrites || keep != 1.0))
    Kokkos::parallel_for("accrue::accumulate::prepare_rows", range(exec, 0, size),
                         prepare_sums<B>{sums, static_cast<real_t<B>>(keep), overwrites});

  view_shape const kept = packed(parameter.shape, parameter.order);
  view_shape const values = shape_of(given.values);
  index_order const order = row_order(parameter.order, parameter.shape.rank);
  void* const from = const_cast<G*>(given.values.data());
  row_addition<G, B, index_type> const pass{given.indices.data(),
                                            static_cast<std::int64_t>(given.indices.stride(0)),
                                            values.extent[0],
                                            parameter.shape.extent[0],
                                            fold(row_of(values), order, from, scalar_id<G>()),
                                            values.stride[0],
                                            fold(row_of(kept), order, sums, scalar_id<B>()),
                                            kept.stride[0],
                                            static_cast<real_t<B>>(weight),
                                            runs_on_host_v<Exec> ? exec.concurrency() : 1};
  if (values.size() == 0) return;
  if constexpr (runs_on_host_v<Exec>)
    Kokkos::parallel_for("accrue::accumulate::rows", range(exec, 0, pass.threads), pass);
  else
    Kokkos::parallel_for("accrue::accumulate::rows", range(exec, 0, values.size()),
                         typename row_addition<G, B, index_type>::by_element{pass});
}

}  // namespace accrue
#endif

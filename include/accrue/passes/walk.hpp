// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_WALK_HPP
#define ACCRUE_PASSES_WALK_HPP

#include <accrue/core/lanes.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/passes/chunk_table.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

// Elements of a chunk do not depend on each other: what the buffer holds is no part of a gradient.
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || defined(__CUDACC__)
#define ACCRUE_INDEPENDENT_ITERATIONS
#elif defined(__clang__)
#define ACCRUE_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define ACCRUE_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#else
#define ACCRUE_INDEPENDENT_ITERATIONS
#endif

namespace accrue {

/// One host thread that has a chunk to itself.
struct lone_worker {
  static constexpr bool alone = true;
  [[nodiscard]] static KOKKOS_FUNCTION constexpr std::int64_t rank() { return 0; }
  [[nodiscard]] static KOKKOS_FUNCTION constexpr std::int64_t size() { return 1; }
  template <class Reducer>
  KOKKOS_FUNCTION void reduce(Reducer const&) const {}
};

/// One of the device threads that share a chunk; neighbours take neighbouring elements.
template <class Member>
struct team_worker {
  static constexpr bool alone = false;
  Member const& member;
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t rank() const { return member.team_rank(); }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t size() const { return member.team_size(); }
  /// Reduces what each thread of the team holds, in a fixed tree.
  template <class Reducer>
  KOKKOS_FUNCTION void reduce(Reducer const& reducer) const {
    member.team_reduce(reducer);
  }
};

/// A visit that carries something from one element to the next: its iterations are not independent.
template <class Visit>
concept sums_up = requires {
  requires Visit::carries;
};

/// A visit that can take eight elements at once: `visit.by_lanes(i, pointer to the first)`.
template <class Visit, class T>
concept visits_lanes = requires(Visit visit, std::int64_t i, T* at) {
  visit.by_lanes(i, at);
};

/// Calls `visit(i + j, start[j * stride])` for every `by`-th j below `count`.
template <class T, class Visit>
KOKKOS_FORCEINLINE_FUNCTION void walk_run(T* start, std::int64_t stride, std::int64_t i, std::int64_t count,
                                          std::int64_t by, Visit& visit) {
  if constexpr (sums_up<Visit>) {  // NOLINT(bugprone-branch-clone): the loops differ in what the compiler may assume
    for (std::int64_t j = 0; j < count; j += by) visit(i + j, start[j * stride]);
  } else {
    ACCRUE_INDEPENDENT_ITERATIONS
    for (std::int64_t j = 0; j < count; j += by) visit(i + j, start[j * stride]);
  }
}

/// Calls `visit(first, stride, i, count)` for the elements from `begin` to before `end` of a view, run by run along its
/// fastest axis.
template <class T, class Visit>
KOKKOS_FORCEINLINE_FUNCTION void for_each_run(strided const& view, T* data, std::int64_t begin, std::int64_t end,
                                              Visit const& visit) {
  strided::axis const fastest = view.axes[view.rank - 1];
  for (std::int64_t i = begin; i < end;) {
    std::int64_t const count = Kokkos::min(fastest.extent - i % fastest.extent, end - i);
    visit(data + view.offset(i), fastest.stride, i, count);
    i += count;
  }
}

/// Elements that lie apart are brought side by side, so many at a time, visited by lanes, and put back where they may
/// have changed.
inline constexpr std::int64_t staged_elements = 256;

template <class T, class Visit>
  requires(visits_lanes<Visit, T>)
void walk_staged(strided const& view, T* data, chunk const& part, Visit& visit) {
  alignas(64) std::remove_const_t<T> stage[staged_elements];
  for (std::int64_t first = part.begin; first < part.end; first += staged_elements) {
    std::int64_t const size = Kokkos::min(staged_elements, part.end - first);
    for_each_run(view, data, first, first + size,
                 [&](T* from, std::int64_t stride, std::int64_t i, std::int64_t count) {
                   for (std::int64_t k = 0; k < count; ++k) stage[i - first + k] = from[k * stride];
                 });
    T* const side_by_side = stage;
    std::int64_t j = 0;
    for (; j <= size - lane_count; j += lane_count) visit.by_lanes(first + j, side_by_side + j);
    walk_run(side_by_side + j, 1, first + j, size - j, 1, visit);
    if constexpr (!std::is_const_v<T>) {
      for_each_run(view, data, first, first + size,
                   [&](T* to, std::int64_t stride, std::int64_t i, std::int64_t count) {
                     for (std::int64_t k = 0; k < count; ++k) to[k * stride] = stage[i - first + k];
                   });
    }
  }
}

/// Calls `visit(i, element)` for this worker's share of the elements of a chunk, and returns the visit with what it
/// carries.
///
/// Order: within a share ascending. Cost: contiguous views are walked at full speed, by lanes where the visit can;
/// strided ones by runs along their fastest axis on the host, brought side by side where the visit takes lanes, and by
/// index arithmetic per element on a device.
template <class T, class Worker, class Visit>
KOKKOS_FUNCTION Visit walk(strided const& view, chunk const& part, Worker worker, Visit visit) {
  T* const data = static_cast<T*>(view.data);
  if (view.contiguous()) {
    std::int64_t i = part.begin + worker.rank();
    if constexpr (Worker::alone && visits_lanes<Visit, T>) {
      for (std::int64_t const last = part.end - lane_count; i <= last; i += lane_count) visit.by_lanes(i, data + i);
    }
    walk_run(data + i, 1, i, part.end - i, worker.size(), visit);
  } else if constexpr (Worker::alone) {
    if constexpr (visits_lanes<Visit, T>)
      walk_staged(view, data, part, visit);
    else
      for_each_run(view, data, part.begin, part.end,
                   [&](T* from, std::int64_t stride, std::int64_t i, std::int64_t count) {
                     walk_run(from, stride, i, count, 1, visit);
                   });
  } else {
    for (std::int64_t i = part.begin + worker.rank(); i < part.end; i += worker.size()) visit(i, data[view.offset(i)]);
  }
  return visit;
}

}  // namespace accrue
#endif

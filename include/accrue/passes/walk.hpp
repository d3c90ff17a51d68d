// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_WALK_HPP
#define ACCRUE_PASSES_WALK_HPP

#include <accrue/core/lanes.hpp>
#include <accrue/core/packets.hpp>
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

#if defined(__clang__)  // a loop that is not vectorized is no fault of who includes this
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

namespace accrue {

/// One host thread that has a chunk to itself.
struct lone_worker {
  static constexpr bool alone = true;
  [[nodiscard]] static KOKKOS_FUNCTION constexpr std::int64_t rank() { return 0; }
  [[nodiscard]] static KOKKOS_FUNCTION constexpr std::int64_t size() { return 1; }
  KOKKOS_FUNCTION void barrier() const {}
  template <class Reducer>
  KOKKOS_FUNCTION void reduce(Reducer const&) const {}
};

/// One of the device threads that share a chunk; neighbours take neighbouring elements, or packets of them.
template <class Member>
struct team_worker {
  static constexpr bool alone = false;
  Member const& member;
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t rank() const { return member.team_rank(); }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t size() const { return member.team_size(); }
  KOKKOS_FUNCTION void barrier() const { member.team_barrier(); }
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

/// One that can take four times as many as well, from an element on whose number is a multiple of that many, but for
/// the rest of a division by eight: `visit.by_four_lanes(pointer to the first)`.
template <class Visit, class T>
concept visits_four_lanes = visits_lanes<Visit, T> && requires(Visit visit, T* at) {
  visit.by_four_lanes(at);
};

/// A visit that takes the `Visit::packet_size` elements of a packet at once on a device, `visit.by_packet(i, pointer to
/// the first)`, wherever `visit.packets_at(i, pointer)` says that all it touches lies so.
template <class Visit, class T>
concept visits_packets = (Visit::packet_size > 1) && requires(Visit visit, std::int64_t i, T* at) {
  visit.by_packet(i, at);
};

/// Any visit of elements that are only read, packet by packet.
template <class T, class Visit>
struct read_by_packets {
  static constexpr int packet_size = packet_size_of<T>;
  Visit visit;
  KOKKOS_FUNCTION void operator()(std::int64_t i, T const& element) { visit(i, element); }
  [[nodiscard]] KOKKOS_FUNCTION static bool packets_at(std::int64_t, T const* at) {
    return packets_begin_at<packet_size>(at);
  }
  KOKKOS_FORCEINLINE_FUNCTION void by_packet(std::int64_t i, T const* at) {
    packet<T, packet_size> near;
    copy_packet<packet_size>(at, near.at);
    for_packet<packet_size>([&](int k) { visit(i + k, near.at[k]); });
  }
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

/// Contiguous elements on a device: from the first place on where packets may begin packet by packet, then element by
/// element what lies before and behind; that is all, where arrays are not aligned alike.
template <class T, class Worker, class Visit>
  requires(visits_packets<Visit, T>)
KOKKOS_FORCEINLINE_FUNCTION void walk_packets(T* data, chunk const& part, Worker worker, Visit& visit) {
  constexpr std::int64_t size = Visit::packet_size;
  std::int64_t before = 0;
  while (before < size && !visit.packets_at(part.begin + before, data + part.begin + before)) ++before;
  std::int64_t const first = part.begin + before;
  std::int64_t const packets = before < size ? (part.end - first) / size : 0;
  for (std::int64_t p = worker.rank(); p < packets; p += worker.size())
    visit.by_packet(first + p * size, data + first + p * size);
  std::int64_t const rest = part.end - part.begin - packets * size;
  for (std::int64_t j = worker.rank(); j < rest; j += worker.size()) {
    std::int64_t const i = part.begin + j + (j < before ? 0 : packets * size);
    visit(i, data[i]);
  }
}

/// Calls `visit(i, element)` for this worker's share of the elements of a chunk, and returns the visit with what it
/// carries.
///
/// Order: within a share ascending, but on a device packets before the rest. Cost: contiguous views are walked at full
/// speed, by lanes where the visit can, on a device by packets; strided ones by runs along their fastest axis on the
/// host, brought side by side where the visit takes lanes, and by index arithmetic per element on a device.
template <class T, class Worker, class Visit>
KOKKOS_FUNCTION Visit walk(strided const& view, chunk const& part, Worker worker, Visit visit) {
  using reader = read_by_packets<std::remove_const_t<T>, Visit>;
  T* const data = static_cast<T*>(view.data);
  if constexpr (Worker::alone) {
    if (view.contiguous()) {
      std::int64_t i = part.begin;
      if constexpr (visits_lanes<Visit, T>) {
        std::int64_t const last = part.end - lane_count;
        if constexpr (visits_four_lanes<Visit, T>) {
          for (; i <= last && (i / lane_count) % 4 != 0; i += lane_count) visit.by_lanes(i, data + i);
          for (; i <= last - 3 * lane_count; i += 4 * lane_count) visit.by_four_lanes(data + i);
        }
        for (; i <= last; i += lane_count) visit.by_lanes(i, data + i);
      }
      walk_run(data + i, 1, i, part.end - i, 1, visit);
    } else if constexpr (visits_lanes<Visit, T>) {
      walk_staged(view, data, part, visit);
    } else {
      for_each_run(view, data, part.begin, part.end,
                   [&](T* from, std::int64_t stride, std::int64_t i, std::int64_t count) {
                     walk_run(from, stride, i, count, 1, visit);
                   });
    }
  } else if (!view.contiguous()) {
    for (std::int64_t i = part.begin + worker.rank(); i < part.end; i += worker.size()) visit(i, data[view.offset(i)]);
  } else if constexpr (visits_packets<Visit, T>) {
    walk_packets(data, part, worker, visit);
  } else if constexpr (std::is_const_v<T> && visits_packets<reader, T>) {
    reader by_packets{visit};
    walk_packets(data, part, worker, by_packets);
    return by_packets.visit;
  } else {
    std::int64_t const i = part.begin + worker.rank();
    walk_run(data + i, 1, i, part.end - i, worker.size(), visit);
  }
  return visit;
}

}  // namespace accrue

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
#endif

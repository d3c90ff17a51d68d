// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_LAUNCH_HPP
#define ACCRUE_PASSES_LAUNCH_HPP

#include <accrue/core/device_array.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/passes/chunk_table.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>

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
};

/// One of the device threads that share a chunk; neighbours take neighbouring elements.
struct team_worker {
  static constexpr bool alone = false;
  std::int64_t rank_;
  std::int64_t size_;
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t rank() const { return rank_; }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t size() const { return size_; }
};

/// A visit that carries something from one element to the next: its iterations are not independent.
template <class Visit>
concept sums_up = requires {
  requires Visit::carries;
};

/// Calls `visit(i, element)` for this worker's share of the elements of a chunk.
///
/// Cost: contiguous views are walked at full speed; strided ones by runs along their fastest axis on the host, and by
/// index arithmetic per element on a device.
template <class T, class Worker, class Visit>
KOKKOS_FUNCTION void walk(strided const& view, chunk const& part, Worker worker, Visit const& visit_in) {
  T* const data = static_cast<T*>(view.data);
  Visit const visit = visit_in;  // a copy whose members cannot alias the elements
  if (view.contiguous()) {
    if constexpr (sums_up<Visit>) {
      for (std::int64_t i = part.begin + worker.rank(); i < part.end; i += worker.size()) visit(i, data[i]);
    } else {
      ACCRUE_INDEPENDENT_ITERATIONS
      for (std::int64_t i = part.begin + worker.rank(); i < part.end; i += worker.size()) visit(i, data[i]);
    }
  } else if constexpr (Worker::alone) {
    strided::axis const fastest = view.axes[view.rank - 1];
    for (std::int64_t i = part.begin; i < part.end;) {
      std::int64_t const run = Kokkos::min(fastest.extent - i % fastest.extent, part.end - i);
      T* const start = data + view.offset(i);
      if constexpr (sums_up<Visit>) {
        for (std::int64_t j = 0; j < run; ++j) visit(i + j, start[j * fastest.stride]);
      } else {
        ACCRUE_INDEPENDENT_ITERATIONS
        for (std::int64_t j = 0; j < run; ++j) visit(i + j, start[j * fastest.stride]);
      }
      i += run;
    }
  } else {
    for (std::int64_t i = part.begin + worker.rank(); i < part.end; i += worker.size()) visit(i, data[view.offset(i)]);
  }
}

/// Runs a body on a host thread.
template <class Body>
struct alone_on_chunk {
  Body body;
  KOKKOS_FUNCTION void operator()(std::int64_t c) const { body(c, lone_worker{}); }
};

/// Runs a body on a team of device threads.
template <class Body>
struct team_on_chunk {
  Body body;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    body(member.league_rank(), team_worker{member.team_rank(), member.team_size()});
  }
};

/// Launches `body(chunk number, worker)` for every chunk: one kernel, on the given instance, without a fence.
template <class Exec, class Body>
void for_each_chunk(std::string const& label, Exec const& exec, std::int64_t chunks, Body const& body) {
  if (chunks == 0) return;
  if constexpr (runs_on_host_v<Exec>) {
    using policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>, Kokkos::Schedule<Kokkos::Static>>;
    Kokkos::parallel_for(label, policy(exec, 0, chunks), alone_on_chunk<Body>{body});
  } else {
    using policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for(label, policy(exec, static_cast<int>(chunks), Kokkos::AUTO), team_on_chunk<Body>{body});
  }
}

}  // namespace accrue
#endif

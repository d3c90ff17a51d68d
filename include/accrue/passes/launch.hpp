// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_LAUNCH_HPP
#define ACCRUE_PASSES_LAUNCH_HPP

#include <accrue/core/device_array.hpp>
#include <accrue/passes/chunk_table.hpp>
#include <accrue/passes/walk.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>
#include <type_traits>

namespace accrue {

/// The chunks of a block as a launch takes them: cut on the host into one share for each thread.
struct chunk_list {
  chunk const* chunks;
  share const* shares;
  std::int64_t chunk_count;
  std::int64_t share_count;
  std::int64_t first = 0;  ///< chunk of the list

  /// How many workers a launch over this list has.
  template <class Exec>
  [[nodiscard]] std::int64_t workers() const {
    return runs_on_host_v<Exec> ? share_count : Kokkos::max<std::int64_t>(chunk_count, 1);
  }
};

/// Where the workers of a pass check out; the last one of all its launches finds everybody's work done.
///
/// Order: the launches of one pass run on one instance. The last worker sets the count back for the next pass.
struct exit_gate {
  std::int64_t* out = nullptr;  ///< on the device; 0 between passes
  std::int64_t expected = 0;    ///< workers of all launches; 0: nobody checks out

  [[nodiscard]] KOKKOS_FUNCTION bool last_one_out() const {
    if (expected == 0) return false;
    Kokkos::memory_fence();
    bool const last = Kokkos::atomic_fetch_add(out, std::int64_t{1}) == expected - 1;
    if (last) *out = 0;
    Kokkos::memory_fence();
    return last;
  }
};

/// Runs a body on a host thread, over its share of the chunks.
template <class Body>
struct on_share {
  Body body;
  chunk_list list;
  KOKKOS_FUNCTION void operator()(std::int64_t s) const {
    auto const known = body.enter();
    for (std::int64_t c = list.shares[s].begin; c < list.shares[s].end; ++c) body(known, c, lone_worker{});
    if (body.gate.last_one_out()) body.leave(lone_worker{});
  }
  static void run(void const* pass, std::int64_t s) { (*static_cast<on_share const*>(pass))(s); }
};

/// Any of them, as the host launches it: behind a pointer, so that Kokkos's launch is compiled once for all passes.
struct any_on_share {
  void (*run)(void const* pass, std::int64_t share);
  void const* pass;
  KOKKOS_FUNCTION void operator()(std::int64_t s) const { run(pass, s); }
};

/// Launches a pass on the threads of a host; it is done when this returns.
template <class Exec>
void launch_on_host(std::string const& label, Exec const& exec, std::int64_t shares, any_on_share const& pass) {
  using policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>, Kokkos::Schedule<Kokkos::Static>>;
  Kokkos::parallel_for(label, policy(exec, 0, shares), pass);
#if defined(KOKKOS_ENABLE_HPX)
  if constexpr (std::is_same_v<Exec, Kokkos::Experimental::HPX>) exec.fence(label);  // the one that returns before
#endif
}

/// Runs a body on a team of device threads, for one chunk.
template <class Body>
struct in_team {
  Body body;
  chunk_list list;
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    team_worker<Member> const worker{member};
    if (member.league_rank() < list.chunk_count) body(body.enter(), list.first + member.league_rank(), worker);
    member.team_barrier();
    int last = 0;
    Kokkos::single(
        Kokkos::PerTeam(member), [&](int& answer) { answer = body.gate.last_one_out() ? 1 : 0; }, last);
    if (last != 0) body.leave(worker);
  }
};

/// Launches a body over all chunks of a list: one kernel, on the given instance, without a fence but where a host
/// works asynchronously, as with HPX.
///
/// The body has `enter()`, what a worker finds out once; `body(what enter gave, chunk number, worker)`; a `gate`; and
/// `leave(worker)` for the last worker of the pass.
template <class Exec, class Body>
void for_each_chunk(std::string const& label, Exec const& exec, chunk_list const& list, Body const& body) {
  if (list.chunk_count == 0 && body.gate.expected == 0) return;
  if constexpr (runs_on_host_v<Exec>) {
    on_share<Body> const pass{body, list};
    launch_on_host(label, exec, list.share_count, {&on_share<Body>::run, &pass});
  } else {
    using policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::int64_t>>;
    auto const teams = static_cast<int>(list.workers<Exec>());
    Kokkos::parallel_for(label, policy(exec, teams, Kokkos::AUTO), in_team<Body>{body, list});
  }
}

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_STAGE_HPP
#define ACCRUE_PASSES_STAGE_HPP

#include <accrue/core/scalar.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/core/type_list.hpp>
#include <accrue/passes/chunk_table.hpp>
#include <accrue/passes/launch.hpp>
#include <accrue/passes/walk.hpp>
#include <accrue/passes/writers.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>

namespace accrue {

/// A run of elements of a view on its way between members: element i lies at `to + i` among what is staged.
struct staged_chunk {
  chunk part;
  std::int64_t to;
  std::int32_t owner;  ///< the member that keeps its sums
  friend bool operator==(staged_chunk const&, staged_chunk const&) = default;
};

/// A pass over staged chunks in which nobody waits for others.
struct staging_pass {
  staged_chunk const* chunks;
  exit_gate gate{};

  struct nothing {};
  [[nodiscard]] KOKKOS_FUNCTION nothing enter() const { return {}; }
  template <class Worker>
  KOKKOS_FUNCTION void leave(Worker) const {}
};

/// What a member adds of the gradients of scalar `G`, weighed; zero for views that have none.
template <class G, class B, class Weigh>
struct stage_gradients : staging_pass {
  strided const* gradients;
  std::int32_t scalar;
  bool takes_absent;  ///< this launch writes the zeros
  B* staged;
  Weigh weigh;

  KOKKOS_FUNCTION stage_gradients(staged_chunk const* of, strided const* from, std::int32_t of_scalar, bool absent,
                                  B* to, Weigh by)
      : staging_pass{of}, gradients(from), scalar(of_scalar), takes_absent(absent), staged(to), weigh(by) {}

  struct put {
    B* to;
    Weigh weigh;
    KOKKOS_FUNCTION void operator()(std::int64_t i, G const& gradient) const { to[i] = weigh(B(widen(gradient))); }
  };
  template <class Worker>
  KOKKOS_FUNCTION void operator()(nothing, std::int64_t c, Worker worker) const {
    staged_chunk const& here = chunks[c];
    strided const& view = gradients[here.part.view];
    if (view.scalar == scalar) {
      walk<G const>(view, here.part, worker, put{staged + here.to, weigh});
    } else if (takes_absent && view.scalar < 0) {
      for (std::int64_t i = here.part.begin + worker.rank(); i < here.part.end; i += worker.size())
        staged[here.to + i] = B(0.0);
    }
  }
};

/// The parameters whose state this member keeps.
template <class P>
struct stage_parameters : staging_pass {
  strided const* parameters;
  std::int32_t member;
  P* staged;

  KOKKOS_FUNCTION stage_parameters(staged_chunk const* of, strided const* from, std::int32_t own, P* to)
      : staging_pass{of}, parameters(from), member(own), staged(to) {}

  struct put {
    P* to;
    KOKKOS_FUNCTION void operator()(std::int64_t i, P const& parameter) const { to[i] = parameter; }
  };
  template <class Worker>
  KOKKOS_FUNCTION void operator()(nothing, std::int64_t c, Worker worker) const {
    staged_chunk const& here = chunks[c];
    if (here.owner == member) walk<P const>(parameters[here.part.view], here.part, worker, put{staged + here.to});
  }
};

/// The parameters that other members have updated, with the copies that are kept of them.
template <class P, class Writers>
struct take_parameters : staging_pass {
  strided const* parameters;
  std::int32_t member;
  P const* staged;
  parameter_writing const* writing;

  KOKKOS_FUNCTION take_parameters(staged_chunk const* of, strided const* to, std::int32_t own, P const* from,
                                  parameter_writing const* how)
      : staging_pass{of}, parameters(to), member(own), staged(from), writing(how) {}

  template <class Writer>
  struct take {
    P const* from;
    Writer writer;
    KOKKOS_FUNCTION void operator()(std::int64_t i, P& parameter) const {
      parameter = from[i];
      writer.put(i, parameter);
    }
  };
  template <class Worker>
  struct with_parameters {
    take_parameters const& pass;
    staged_chunk const& here;
    Worker worker;
    template <class Writer>
    KOKKOS_FUNCTION void operator()(Writer const& writer) const {
      walk<P>(pass.parameters[here.part.view], here.part, worker, take<Writer>{pass.staged + here.to, writer});
    }
  };
  template <class Worker>
  KOKKOS_FUNCTION void operator()(nothing, std::int64_t c, Worker worker) const {
    staged_chunk const& here = chunks[c];
    if (here.owner != member)
      with_writer(Writers{}, writing, here.part.view, 1, with_parameters<Worker>{*this, here, worker});
  }
};

/// Adds the sum of a microbatch over all members to that of the group; the first one overwrites.
template <class Real>
struct add_received {
  Real* to;
  Real const* from;
  bool first;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { to[i] = first ? from[i] : to[i] + from[i]; }
};
/// Numbers from `begin` to before `end`, and what changes no number that is added to it for the others.
template <class Real>
struct stage_state {
  Real const* from;
  std::int64_t begin;
  std::int64_t end;
  Real* staged;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { staged[i] = i >= begin && i < end ? from[i] : Real(-0.0); }
};
template <class Real>
struct clear_words {
  Real* to;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { to[i] = Real(0); }
};

}  // namespace accrue
#endif

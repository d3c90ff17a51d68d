// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_RESTART_HPP
#define ACCRUE_RESTART_HPP

#include <accrue/accumulator.hpp>
#include <accrue/core/replace_file.hpp>
#include <accrue/restart_state.hpp>

#include <fstream>
#include <istream>
#include <ostream>
#include <string>
#include <type_traits>

namespace accrue {

/// Whether a state holds the parameters as well.
enum class restart { with_parameters, without_parameters };

/// The way from an accumulator to its state.
struct restart_access {
  template <class Exec, class Set, class... Policies>
  [[nodiscard]] static auto of(accumulator<Exec, Set, Policies...>& group) {
    static_assert(is_parameter_set_v<Set>, ACCRUE_SAY_NOT_PARAMETERS);
    return restart_state<Exec, recipe<Policies...>, Set>(group.stages_);
  }
};

/// Writes the whole state of an accumulator, in the middle of a group too: the sums and counts of the open group, the
/// state of the update rule, the ledger with its records, settings that were changed, and the parameters.
///
/// Order: after what was launched on `exec`; fence other instances first. What `gather` holds back is added first.
/// Members of `sharded` replicas all call it, or `take_part_in_save`, between groups; each writes the whole state,
/// with what it handed over itself, so that one file is enough for any number of them. Guarantee: the accumulator goes
/// on as if nothing had been written. Cost: fences; room on the host for the largest view. Failure: `accrue::error`
/// where the stream does not take it. Example: examples/restart/restart.cpp
template <class Exec, class Set, class... Policies>
void save(std::type_identity_t<Exec> const& exec, accumulator<Exec, Set, Policies...>& group, std::ostream& out,
          restart parts = restart::with_parameters) {
  restart_access::of(group).save(exec, out, parts == restart::with_parameters);
}
template <class Exec, class Set, class... Policies>
void save(accumulator<Exec, Set, Policies...>& group, std::ostream& out, restart parts = restart::with_parameters) {
  save(group.exec(), group, out, parts);
}

/// Takes part in the `save` of other members of `sharded` replicas without writing anything: each keeps a part of the
/// state. Nothing for others.
template <class Exec, class Set, class... Policies>
void take_part_in_save(std::type_identity_t<Exec> const& exec, accumulator<Exec, Set, Policies...>& group) {
  restart_access::of(group).take_part_in_save(exec);
}
template <class Exec, class Set, class... Policies>
void take_part_in_save(accumulator<Exec, Set, Policies...>& group) {
  take_part_in_save(group.exec(), group);
}

/// Takes over a state that was saved: from here on the accumulator is the one that was saved.
///
/// Order: before the first microbatch, or between groups. Guarantee: the same parameters, norms, records and counters
/// as without the restart, bit for bit on the same machine with the same build. Reads the stream as far as the state
/// goes, and everything is checked before anything changes. Settings of the boundary and of the update rule are those
/// of the state. Cost: fences; room on the host for the whole state. Failure: `accrue::error` that names what differs:
/// damaged, cut short, foreign, of another version, recipe or shape; and where a group is open. Nothing has changed
/// then.
template <class Exec, class Set, class... Policies>
void load(std::type_identity_t<Exec> const& exec, accumulator<Exec, Set, Policies...>& group, std::istream& in,
          restart parts = restart::with_parameters) {
  restart_access::of(group).load(exec, in, parts == restart::with_parameters, false);
}
template <class Exec, class Set, class... Policies>
void load(accumulator<Exec, Set, Policies...>& group, std::istream& in, restart parts = restart::with_parameters) {
  load(group.exec(), group, in, parts);
}

/// `save` to a file, which is the old or the new one at every moment, see `replace_file`. No other process may write
/// the same one meanwhile: of several replicas each has a path of its own, or, where they are `sharded`, one writes.
template <class Exec, class Set, class... Policies>
void save_file(accumulator<Exec, Set, Policies...>& group, std::string const& path,
               restart parts = restart::with_parameters) {
  bool opened = false;
  try {
    replace_file(path, [&](std::ostream& out) {
      opened = true;
      save(group, out, parts);
    });
  } catch (...) {
    if (!opened) {
      try {
        take_part_in_save(group);  // others wait for it
      } catch (error const&) {     // what is wrong with the file is said
      }
    }
    throw;
  }
}

/// `load` from a file, which must end where the state does.
template <class Exec, class Set, class... Policies>
void load_file(accumulator<Exec, Set, Policies...>& group, std::string const& path,
               restart parts = restart::with_parameters) {
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse_state({"'", path, "' cannot be opened"}, "check the path");
  restart_access::of(group).load(group.exec(), in, parts == restart::with_parameters, true);
}

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_MEMORY_WATCH_HPP
#define ACCRUE_DOCTOR_MEMORY_WATCH_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/facts.hpp>
#include <accrue/core/replica_report.hpp>
#include <accrue/core/replica_transport.hpp>
#include <accrue/doctor/memory_book.hpp>
#include <accrue/doctor/memory_callbacks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace accrue {

/// Watches the memory that is allocated through Kokkos, by memory space: before the first group, in it, and after it;
/// and what grows from group to group.
///
/// Order: after Kokkos is initialized and before the first view, since what is allocated already is not counted. Then
/// `groups_of(accumulator)`, after which each group ends where its update begins; or `begin_groups()`, and
/// `end_group()` after each. Outlives an accumulator that it watches. Guarantee: the bytes that views ask for, exactly;
/// the callbacks of a tool that is loaded are called with every event as before, and are put back at the end. Several
/// watches may overlap; events may come from any thread. While tools are paused nothing is seen. Cost: a lock and an
/// entry in a table for each allocation; nothing where no watch lives. Failure: `accrue::error` where others set
/// callbacks over those of a watch that has ended. Example: examples/out_of_memory/out_of_memory.cpp
class memory_watch {
 public:
  /// So many groups in a row, not counting the first, that each end with more than the one before are a suspected leak:
  /// a cache that is filled in a few groups is none. Failure: `accrue::error` where they are not above 0.
  explicit memory_watch(std::int64_t suspicious = 8) : book_(suspicious) {
    if (suspicious <= 0)
      throw error("accrue::memory_watch: suspicious is not above 0", "all memory would be a suspected leak",
                  "give the number of groups that have to end with more than the one before");
    callbacks().add(book_);
  }
  memory_watch(memory_watch const&) = delete;
  memory_watch& operator=(memory_watch const&) = delete;
  ~memory_watch() { callbacks().remove(book_); }

  /// What is held now is there before the first group; the accumulator says where groups end.
  template <class Accumulator>
  void groups_of(Accumulator& group) {
    begin_groups();
    group.observe(std::ref(*this));
  }
  void group_closing(group_counts const&) { end_group(); }

  /// The same by hand.
  void begin_groups() {
    callbacks().reading([&] { book_.begin_groups(); });
  }
  void end_group() {
    callbacks().reading([&] { book_.end_group(); });
  }

  /// Of all memory spaces in which something was allocated, by name.
  [[nodiscard]] std::vector<memory_peak> peaks() const {
    return callbacks().reading([&] { return book_.peaks(); });
  }
  /// What was seen so far. Leaks are suspected where memory still grew with the last group.
  [[nodiscard]] memory_report report() const {
    return callbacks().reading([&] { return book_.report(); });
  }

 private:
  [[nodiscard]] static detail::memory_callbacks& callbacks() { return detail::memory_callbacks::all(); }

  memory_book book_;
};

/// The report of this member, with the peaks of all members in it.
///
/// Order: all members call it together. Cost: two gathers, of 8 bytes and of some 40 bytes a memory space.
template <class Transport>
  requires(fills_slot<Transport, slot::replicas>)
[[nodiscard]] memory_report report_of_members(Transport const& transport, memory_watch const& watch) {
  memory_report all = watch.report();
  field_writer out;
  for (memory_of_space& each : all.spaces) out(each.whole);
  auto const members = static_cast<std::size_t>(transport.members());
  auto bytes = static_cast<std::int64_t>(out.bytes().size());
  std::vector<std::int64_t> const sizes = gathered(transport, bytes);
  state_bytes mine = out.bytes();
  mine.resize(static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end())));
  state_bytes theirs(mine.size() * members);
  transport.gather(reinterpret_cast<std::byte const*>(mine.data()), mine.size(),
                   reinterpret_cast<std::byte*>(theirs.data()));
  for (std::size_t m = 0; m < members; ++m) {
    auto const part = std::span<unsigned char const>(theirs).subspan(m * mine.size());
    field_reader in("memory", part.first(static_cast<std::size_t>(sizes[m])));
    all.members.emplace_back();
    while (!in.at_end()) in(all.members.back().emplace_back());
  }
  return all;
}

}  // namespace accrue
#endif

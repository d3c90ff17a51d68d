// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FITTING_MICROBATCHES_HPP
#define ACCRUE_FITTING_MICROBATCHES_HPP

#include <accrue/accumulate/boundary.hpp>
#include <accrue/accumulator.hpp>
#include <accrue/core/diagnostics.hpp>
#include <accrue/core/out_of_memory.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/plan/smaller_microbatch.hpp>
#include <accrue/replicas.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace accrue {

/// How a group is cut into microbatches that are smaller than before.
enum class cut {
  even,    ///< into equal ones: sizes that divide the group
  uneven,  ///< the last one may be smaller, so that sizes shrink by less
};

/// Fills groups in microbatches that fit into memory: where one does not, the group is started again in smaller ones,
/// on all replicas, and so are the groups after it.
///
/// `update(group, first, last, backward)` calls `backward(group, first, last)` for the examples of one microbatch after
/// the other, which hands them over with one call of `accumulate`, and closes the group. Order: in place of
/// `accumulate`, `update` and `end_of_data`, on all replicas. A boundary `every{A}` follows the plan. Guarantee: each
/// example counts once in the update and in the ledger, which says what had to be handed over again; the effective
/// batch is that of the plan. Where a call throws, the group is closed, or as if it had not begun. Cost: what was done
/// of the group by then. Replicas agree in the message that closes a group; partners exchange one more, of 40 bytes.
/// Failure: `accrue::error` where a microbatch of 1 example does not fit, and for a group that holds something already;
/// what else `backward` throws comes through, on other replicas as an `accrue::error`. Example:
/// examples/out_of_memory/out_of_memory.cpp
template <class... AlsoOutOfMemory>
class fitting_microbatches {
 public:
  /// A full group of this replica has so many samples; begins with microbatches of `microbatch`, in a replica's own
  /// share of the data. `AlsoOutOfMemory` are types of exceptions that mean what `std::bad_alloc` does.
  explicit fitting_microbatches(samples group, samples microbatch, cut how = cut::even)
      : samples_(group), how_(how), plan_(plan::uneven_group(group, microbatch).value()) {}

  /// How groups are cut now.
  [[nodiscard]] plan::cut_group const& plan() const { return plan_; }
  /// How often this replica was told to fill a group again.
  [[nodiscard]] std::int64_t refills() const { return refills_; }

  /// Fills a group with the examples from `first` to before `last`, and closes it as `group.update()` does.
  template <class Group, class Backward>
  auto update(Group& group, std::int64_t first, std::int64_t last, Backward const& backward) {
    return run_one<false>(group, {first, last}, backward);
  }
  /// The last group of the data, which may be short or hold nothing. Order: as `group.end_of_data()`.
  template <class Group, class Backward>
  auto end_of_data(Group& group, std::int64_t first, std::int64_t last, Backward const& backward) {
    return run_one<true>(group, {first, last}, backward);
  }
  /// The same for several replicas of this process, as `update_replicas` and `end_of_data_of_replicas`: they share the
  /// examples in equal parts, and `backward(group, first, last, r)` learns which of them it works for.
  template <class Group, class Backward>
  auto update(std::vector<Group>& replicas, std::int64_t first, std::int64_t last, Backward const& backward) {
    return run(addresses(replicas), {first, last}, false, backward);
  }
  template <class Group, class Backward>
  auto end_of_data(std::vector<Group>& replicas, std::int64_t first, std::int64_t last, Backward const& backward) {
    return run(addresses(replicas), {first, last}, true, backward);
  }

 private:
  struct range {
    std::int64_t first = 0, last = 0;
    [[nodiscard]] range part(std::size_t number, std::size_t of) const {
      auto const n = static_cast<std::int64_t>(number), parts = static_cast<std::int64_t>(of);
      std::int64_t const each = (last - first) / parts, more = (last - first) % parts;
      std::int64_t const begin = first + n * each + std::min(n, more);
      return {begin, begin + each + (n < more ? 1 : 0)};
    }
  };
  /// One attempt to fill a group, and what came of it.
  struct attempt {
    refill_wish wish;
    std::exception_ptr failure;  ///< of which the wish says whether it is final
    bool begun = false;          ///< the groups were empty, and were filled as far as it went
  };
  /// As long as it lives, groups that a producer breaks off are started again, not discarded.
  template <class Group>
  class filling_again {
   public:
    explicit filling_again(std::vector<Group*> const& groups) : groups_(groups) { tell(true); }
    filling_again(filling_again const&) = delete;
    filling_again& operator=(filling_again const&) = delete;
    ~filling_again() { tell(false); }

   private:
    void tell(bool does) const {
      for (Group* const each : groups_) closing_of_replicas::stages_of(*each).start_again_where_broken_off(does);
    }
    std::vector<Group*> const& groups_;
  };

  template <class Group>
  [[nodiscard]] static std::vector<Group*> addresses(std::vector<Group>& replicas) {
    std::vector<Group*> all;
    for (Group& each : replicas) all.push_back(&each);
    return all;
  }

  template <bool Ended, class Group, class Backward>
  auto run_one(Group& group, range examples, Backward const& backward) {
    using transport = std::remove_cvref_t<decltype(group.policies().replicas)>;
    constexpr bool by_itself = !is_in_process_v<transport>;
    static_assert(by_itself, ACCRUE_SAY_IN_PROCESS);
    if constexpr (std::is_same_v<transport, one_replica>)
      return run_alone<Ended>(group, examples, backward);
    else if constexpr (by_itself)
      return run(std::vector<Group*>{&group}, examples, Ended, backward).front();
  }

  template <bool Ended, class Group, class Backward>
  auto run_alone(Group& group, range examples, Backward const& backward) {
    std::vector<Group*> const only{&group};
    for (;;) {
      attempt const made = fill(only, examples, backward);
      if (made.wish.wanted > 0) {
        refill(only, made.wish.microbatch);
        continue;
      }
      try {
        if (made.failure) std::rethrow_exception(made.failure);
        if constexpr (Ended)
          return group.end_of_data();
        else
          return group.update();
      } catch (...) {
        if (made.begun) group.start_again();
        throw;
      }
    }
  }

  template <class Group, class Backward>
  auto run(std::vector<Group*> const& groups, range examples, bool ended, Backward const& backward) {
    constexpr bool fits = detail::is_replica_v<Group>;
    static_assert(fits, ACCRUE_SAY_NOT_REPLICAS);
    if (groups.empty())
      throw error("accrue::fitting_microbatches: no accumulator is given", "there is nothing to fill",
                  "give all of them");
    auto closed = close_once(groups, examples, ended, backward);
    while (ended && !closed.all_ended) {  // others go on
      auto next = close_once(groups, {}, ended, backward);
      if (!next.closed_something) std::swap(next.closed, closed.closed);
      closed = std::move(next);
    }
    if (ended)
      for (Group* const each : groups) closing_of_replicas::tell_data_ended(*each);
    return closed.closed;
  }
  template <class Group, class Backward>
  auto close_once(std::vector<Group*> const& groups, range examples, bool ended, Backward const& backward) {
    for (;;) {
      attempt const made = fill(groups, examples, backward);
      if (made.begun && made.failure)  // what is held waits for gradients that may be gone
        for (Group* const each : groups) each->start_again();
      try {
        auto closed = closing_of_replicas::run_once(groups, ended, made.wish);
        if (closed.refill == 0) return closed;
        refill(groups, closed.refill);
      } catch (...) {
        if (made.begun)
          for (Group* const each : groups) each->start_again();
        if (made.wish.failed > 0) std::rethrow_exception(made.failure);
        throw;
      }
    }
  }

  template <class Group, class Backward>
  [[nodiscard]] attempt fill(std::vector<Group*> const& groups, range examples, Backward const& backward) const {
    filling_again<Group> const begins_anew(groups);
    attempt made;
    made.wish.able = 1;
    made.wish.microbatch = plan_.microbatch.value();
    try {
      require_groups(groups, examples);
      made.begun = true;
      for (std::size_t r = 0; r < groups.size(); ++r) {
        follow_plan(*groups[r]);
        fill_one(*groups[r], examples.part(r, groups.size()), r, backward);
      }
    } catch (...) {
      made.failure = std::current_exception();
      bool const does_not_fit = is_out_of_memory<AlsoOutOfMemory...>();
      auto const next = how_ == cut::even ? plan::smaller_microbatch(samples_, plan_.microbatch)
                                          : plan::smaller_uneven_microbatch(samples_, plan_.microbatch);
      made.wish.wanted = does_not_fit && next ? 1 : 0;
      made.wish.failed = 1 - made.wish.wanted;
      if (made.wish.wanted > 0) made.wish.microbatch = next.value().microbatch.value();
      if (does_not_fit && !next)
        made.failure = std::make_exception_ptr(
            error(joined({"accrue: a microbatch of 1 sample runs out of memory: ", text_of_exception()}),
                  "there is nothing smaller", plan::explain(*next.reason()).way_out));
    }
    return made;
  }
  template <class Group, class Backward>
  void fill_one(Group& group, range examples, [[maybe_unused]] std::size_t number, Backward const& backward) const {
    std::int64_t calls = 0;
    for (std::int64_t first = examples.first; first < examples.last; first += plan_.microbatch.value()) {
      std::int64_t const last = std::min(first + plan_.microbatch.value(), examples.last);
      if constexpr (std::is_invocable_v<Backward const&, Group&, std::int64_t, std::int64_t, std::size_t>)
        backward(group, first, last, number);
      else
        backward(group, first, last);
      if (group.held().value() != ++calls)
        throw error(
            joined({"accrue::fitting_microbatches: after ", std::to_string(calls),
                    " calls of the function the group holds ", std::to_string(group.held().value()), " microbatches"}),
            "examples would be missing, or counted twice", "hand over one microbatch in each call");
    }
  }

  /// Begins the groups anew, in microbatches of at most so many samples.
  template <class Group>
  void refill(std::vector<Group*> const& groups, std::int64_t microbatch) {
    for (Group* const each : groups) each->start_again();
    plan_ = plan::uneven_group(samples_, samples{microbatch}).value();
    ++refills_;
  }
  template <class Group>
  void follow_plan(Group& group) const {
    using boundary = std::remove_cvref_t<decltype(group.policies().boundary)>;
    if constexpr (std::is_same_v<boundary, every>) {
      if (group.policies().boundary != every{plan_.group} && group.held().value() == 0)
        group.change_boundary(every{plan_.group});
    }
  }

  /// Failure: `accrue::error`, with nothing changed.
  template <class Group>
  void require_groups(std::vector<Group*> const& groups, range examples) const {
    using normalization = std::remove_cvref_t<decltype(groups.front()->policies().normalization)>;
    if (std::is_same_v<normalization, per_microbatch> && how_ == cut::uneven)
      throw error("accrue::fitting_microbatches: uneven microbatches, each of which weighs the same",
                  "the update would depend on how the group is cut", "take cut::even, or per_sample or per_token");
    for (Group const* const each : groups)
      if (each->held().value() > 0)
        throw error(joined({"accrue::fitting_microbatches: the group holds ", std::to_string(each->held().value()),
                            " microbatches already"}),
                    "it could not be started again with them", "update(), discard() or start_again() before");
    std::int64_t const most = samples_.value() * static_cast<std::int64_t>(groups.size());
    if (examples.last < examples.first || examples.last - examples.first > most)
      throw error(joined({"accrue::fitting_microbatches: ", std::to_string(examples.last - examples.first),
                          " examples for a group of ", std::to_string(most)}),
                  "the effective batch would be another", "hand over those of one group");
  }

  samples samples_;
  cut how_;
  plan::cut_group plan_;
  std::int64_t refills_ = 0;
};

}  // namespace accrue
#endif

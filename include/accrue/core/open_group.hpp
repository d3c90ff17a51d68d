// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_OPEN_GROUP_HPP
#define ACCRUE_CORE_OPEN_GROUP_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/facts.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace accrue {

/// The loss of a group as it grows: a sum on the host and one on the device.
template <class Total = double>
struct group_loss {
  Total on_host{};
  bool on_device = false;     ///< the device's sum holds something of this group
  std::int64_t reported = 0;  ///< microbatches that gave their loss, among those that weigh

  void merge(group_loss const& other) {
    on_host += other.on_host;
    on_device = on_device || other.on_device;
    reported += other.reported;
  }
  /// For a restart, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(on_host, on_device, reported);
  }
};

/// What the host knows of the group that is being filled. A plain value: a change is made on a copy and then taken
/// over. Real numbers are summed in a `Total`.
template <class Count, class Total = double>
struct open_group {
  group_counts counts;
  group_counts rejected;                                                 ///< of these, where the boundary has to know
  std::int64_t contributed = 0;                                          ///< microbatches that weigh
  std::conditional_t<std::is_integral_v<Count>, Count, Total> weight{};  ///< N so far: exact for integers
  group_loss<Total> loss;

  /// Failure: `accrue::error` where a total overflows.
  void add(microbatch_facts const& facts, Count count, bool ignored) {
    counts.add(facts, ignored);
    if (ignored) return;
    ++contributed;
    require_room_for(count);
    weight += count;
  }
  /// Adds the group of another replica. Failure: as `add`.
  void merge(open_group const& other) {
    require_room_for(other.total());
    counts += other.counts;
    rejected += other.rejected;
    contributed += other.contributed;
    weight += other.weight;
    loss.merge(other.loss);
  }

  /// N so far, as a number.
  [[nodiscard]] Count total() const { return static_cast<Count>(weight); }

  /// The group's loss is known only if every microbatch that weighs gave one.
  [[nodiscard]] bool has_loss() const { return contributed > 0 && loss.reported == contributed; }

  /// For a restart, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(counts, rejected, contributed, weight, loss);
  }
  /// Whether the numbers can have come about by `add`.
  [[nodiscard]] bool plausible() const {
    std::int64_t const held = counts.microbatches.value();
    std::int64_t const weighing = held - counts.ignored_microbatches.value();
    return contributed >= 0 && contributed <= weighing && loss.reported >= 0 && loss.reported <= contributed &&
           total() >= 0 && (contributed > 0 || total() == 0);
  }

 private:
  void require_room_for(Count count) const {
    if (count > std::numeric_limits<Count>::max() - total())
      throw error("accrue: the weight of the group is more than its type holds",
                  "the gradient would be divided by a wrong number", "check the counts that are handed over");
  }
};

}  // namespace accrue
#endif

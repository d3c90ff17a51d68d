// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_GRADIENT_TABLES_HPP
#define ACCRUE_PASSES_GRADIENT_TABLES_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/passes/device_table.hpp>
#include <accrue/passes/lending.hpp>
#include <accrue/passes/recognition.hpp>
#include <accrue/passes/sum_places.hpp>
#include <accrue/passes/touch_table.hpp>
#include <accrue/passes/view_directory.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace accrue {

/// For every view of the model, by its number: where its sum lies, what the open group has touched, and where the
/// gradients lie of up to `Sets` contributions that wait for one pass.
template <class Exec, int Sets>
class gradient_tables {
  using finding = typename recognition<Sets>::finding;

 public:
  gradient_tables() = default;
  /// Where sets are lent, gradients may lie in the buffer itself as well.
  gradient_tables(Exec const& exec, std::vector<strided> sums, lending lent)
      : views_(sums.size()), lent_(std::move(lent)), touched_(exec, sums.size()), sums_(exec, std::move(sums)) {
    for (auto& slots : known_)
      for (known& each : slots) each.gradients = {exec, "accrue::passes::gradients", std::vector<strided>(views_)};
  }

  [[nodiscard]] touch_table<Exec>& touched() { return touched_; }
  [[nodiscard]] touch_table<Exec> const& touched() const { return touched_; }

  /// Checks a contribution against the parameters, `waiting` others being held already; throws with nothing changed.
  /// The first gradients of a group may lie in the buffer, and stay there where nothing has to look at them first. One
  /// that is not to be `recognised` is checked in any case.
  ///
  /// Cost: a look at each view where the same ones are remembered under this number, or lay in the buffer; else some
  /// 50 ns for each.
  template <class... Items, class... Gradients>
  void check(view_directory& directory, std::tuple<Items...> const& items, std::tuple<Gradients...> const& gradients,
             int waiting, bool may_stay_in_buffer, bool recognised = true) {
    may_stay_ = lent_.sets > 0 && may_stay_in_buffer;
    if constexpr (sizeof...(Gradients) != sizeof...(Items)) {  // none, or the parameters were refused
      directory.no_gradients();
      memory_.forget_look();
    } else {
      memory_.forget_look();
      bool const may_be_in_buffer = may_stay_ && !touched_.any();
      if (recognised && memory_.look(items, gradients, waiting, may_be_in_buffer) != finding::unknown) return;
      std::size_t view = 0;
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (directory.check(std::get<I>(items), std::get<I>(gradients), view), ...);
      }
      (std::index_sequence_for<Gradients...>{});
      placing const where = refuse_what_is_in_use(directory, waiting);
      if (where.in_buffer == 0) return;
      if (may_stay_ && where.in_buffer == where.given)
        memory_.note_in_buffer();
      else
        memory_.forget_look();
    }
  }

  /// Takes the contribution that was checked last as number `set` of those that one pass will add. Gradients that were
  /// written into the buffer itself are there already: `weight` waits until the next pass. Returns whether others are
  /// left for a pass.
  bool hold(view_directory const& directory, int set, double weight) {
    if (memory_.found() == finding::in_buffer) {
      memory_.left_in_buffer();
      for (std::size_t v = 0; v < views_; ++v)
        if (memory_.in_buffer(v)) touched_.touch(directory[v].number, weight);
      return false;
    }
    held_[static_cast<std::size_t>(set)] = memory_.hold(set);
    known& mine = held(set);
    if (recognised()) return mine.given > 0;
    mine.given = 0;
    mine.lent = 0;
    for (std::size_t v = 0; v < views_; ++v) {
      std::size_t const at = directory[v].number;
      strided gradient = directory.gradient(v);
      if (may_stay_ && lies_in_buffer(gradient, at)) {
        touched_.touch(at, weight);
        gradient = {};
      }
      mine.given += gradient.scalar >= 0 ? 1 : 0;
      if (int const from = lent_.set_of(gradient.data, sums_.own(at).data, at); from >= 0) mine.lent |= 1U << from;
      mine.gradients.set(at, gradient);
    }
    return mine.given > 0;
  }

  /// Failure: `accrue::error` where the contribution that was checked last cannot become the sums of the group.
  void require_adoptable(view_directory const& directory, int waiting) const {
    if (touched_.any() || waiting > 0)
      throw error("accrue::accumulator: adopt() comes second in its group", "there are sums already",
                  "adopt the first contribution of a group, accumulate the others");
    for (std::size_t v = 0; v < views_; ++v) {
      strided const& gradient = directory.gradient(v);
      strided const& sum = sums_[directory[v].number];
      if (gradient.scalar < 0 || gradient.size == 0) continue;
      if (gradient.scalar != sum.scalar || !gradient.contiguous())
        throw error(joined({"accrue::accumulator: the gradient of ", directory.name(v), " cannot become the sum"}),
                    "its scalar or layout is another than that of the sums",
                    "give one of the sums' scalar, laid out densely as its parameter, or accumulate it");
    }
  }
  /// The gradients that were checked last are the sums of this group from now on; `weight` waits until the next pass.
  void adopt(view_directory const& directory, double weight) {
    for (std::size_t v = 0; v < views_; ++v) {
      strided const& gradient = directory.gradient(v);
      if (gradient.scalar < 0) continue;
      sums_.adopt(directory[v].number, gradient);
      touched_.touch(directory[v].number, weight);
    }
    memory_.forget_look();
  }
  /// Before a group begins: the sums are in memory of our own again.
  void reclaim() {
    if (!sums_.at_home() && !touched_.any()) come_home();
  }
  /// The sums are in memory of our own, where they were brought to.
  void come_home() { sums_.come_home(); }
  /// Of each view, by its number: whether it is touched, or will be by the first `count` that are held.
  [[nodiscard]] bool will_be_touched(std::size_t at, int count) const {
    return touched_.is_touched(at) || is_given(at, count);
  }
  /// Whether all sums are in memory of our own and wait for nothing, once those that are held are added.
  [[nodiscard]] bool will_be_at_home(int count) const {
    bool all = sums_.at_home() && !touched_.waits();
    for (std::size_t at = 0; at < views_; ++at) all = all && will_be_touched(at, count);
    return all;
  }
  /// Whether all sums are there, and wait for nothing.
  [[nodiscard]] bool at_home() const { return sums_.at_home() && touched_.settled(); }

  /// Whether the contribution that was checked last was held under its number before.
  [[nodiscard]] bool recognised() const { return memory_.found() == finding::held_before; }
  /// The first set that no contribution lies in that waits for its pass; `waiting` of them do.
  [[nodiscard]] int free_set(int waiting) const {
    std::uint32_t used = 0;
    for (int j = 0; j < waiting; ++j) used |= held(j).lent;
    int free = 0;
    while (free < lent_.sets && (used >> free & 1U) != 0) ++free;
    if (free == lent_.sets)
      throw error("accrue::accumulator: every set that is lent waits for its pass", "there is no memory for another",
                  "hand over each set as it was lent");
    return free;
  }
  /// Whether a contribution that waits has a gradient of this view there.
  [[nodiscard]] bool waits_at(void const* data, std::size_t at, int waiting) const {
    bool waits = false;
    for (int j = 0; j < waiting; ++j) waits = waits || held(j).gradients[at].data == data;
    return waits;
  }

  /// What is held under a number, told apart from everything else that ever was.
  [[nodiscard]] std::int64_t identity(int set) const { return memory_.identity(set); }

  /// Sends the tables of the first `count` sets to the device, and says what is touched by them for the first time.
  first_touch upload(Exec const& exec, int count) {
    for (int j = 0; j < count; ++j) held(j).gradients.upload(exec);
    upload_sums(exec);
    if (touched_.all()) return first_touch::none;
    return touched_.any() ? first_touch::some : first_touch::all;
  }

  /// Sends what kernels have to know of the sums.
  void upload_sums(Exec const& exec) {
    sums_.upload(exec);
    touched_.upload(exec);
  }

  /// Notes that the first `count` sets are in the sums.
  void touch(int count) {
    if (touched_.settled()) return;
    bool all = false;
    for (int j = 0; j < count; ++j) all = all || held(j).given == static_cast<std::int64_t>(views_);
    for (std::size_t at = 0; at < views_; ++at)
      if (all || is_given(at, count)) touched_.touch(at, 1.0);
  }

  // For kernels, which see what was set before the upload.
  [[nodiscard]] strided const* sums() const { return sums_.data(); }
  /// Where the sum of a view lies, by its number.
  [[nodiscard]] strided const& sum(std::size_t at) const { return sums_[at]; }
  [[nodiscard]] strided const* gradients(int set) const { return held(set).gradients.data(); }

 private:
  /// How many gradients there are, and how many of them lie in the buffer.
  struct placing {
    std::int64_t given = 0;
    std::int64_t in_buffer = 0;
  };

  /// A gradient in the memory of a sum, or of a contribution that waits for its pass, has overwritten it; but the first
  /// one of a group may lie in the buffer.
  [[nodiscard]] placing refuse_what_is_in_use(view_directory const& directory, int waiting) const {
    placing where;
    for (std::size_t v = 0; v < views_; ++v) {
      strided const& gradient = directory.gradient(v);
      if (gradient.scalar < 0) continue;
      std::size_t const at = directory[v].number;
      bool const mine = lies_in_buffer(gradient, at);
      ++where.given;
      where.in_buffer += mine ? 1 : 0;
      bool const used = (mine && touched_.is_touched(at)) || waits_at(gradient.data, at, waiting);
      if (used && gradient.size > 0) directory.refuse_overwriting(v);
    }
    return where;
  }
  [[nodiscard]] bool lies_in_buffer(strided const& gradient, std::size_t at) const {
    strided const& sum = sums_[at];
    return gradient.scalar >= 0 && gradient.data == sum.data && gradient.scalar == sum.scalar && gradient.contiguous();
  }
  [[nodiscard]] bool is_given(std::size_t at, int count) const {
    bool any = false;
    for (int j = 0; j < count; ++j) any = any || held(j).gradients[at].scalar >= 0;
    return any;
  }

  /// A contribution that is remembered: where its gradients lie, how many of them a pass adds, and which of the sets
  /// that are lent they lie in.
  struct known {
    device_table<strided, Exec> gradients;
    std::int64_t given = 0;
    std::uint32_t lent = 0;
  };
  [[nodiscard]] known& held(int set) {
    auto const number = static_cast<std::size_t>(set);
    return known_[number][held_[number]];
  }
  [[nodiscard]] known const& held(int set) const {
    auto const number = static_cast<std::size_t>(set);
    return known_[number][held_[number]];
  }

  static constexpr auto sets = static_cast<std::size_t>(Sets);

  std::size_t views_ = 0;
  lending lent_;
  bool may_stay_ = false;  ///< gradients of the contribution that was checked last, in the buffer
  touch_table<Exec> touched_;
  sum_places<Exec> sums_;
  std::array<std::array<known, remembered>, sets> known_;  ///< under each number that a contribution can be held
  std::array<std::size_t, sets> held_{};                   ///< which of them is held under each number
  recognition<Sets> memory_;
};

}  // namespace accrue
#endif

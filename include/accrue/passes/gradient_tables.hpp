// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_GRADIENT_TABLES_HPP
#define ACCRUE_PASSES_GRADIENT_TABLES_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/passes/device_table.hpp>
#include <accrue/passes/recognition.hpp>
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

/// Which views of a launch are touched for the first time in their group, and so overwritten instead of added to.
enum class first_touch : std::int32_t { none, all, some };

/// For every view of the model, by its number: where its sum lies, what the open group has touched, and where the
/// gradients lie of up to `Sets` contributions that wait for one pass.
template <class Exec, int Sets>
class gradient_tables {
  using finding = typename recognition<Sets>::finding;

 public:
  gradient_tables() = default;
  /// Gradients may lie in the buffer itself where it `lends` its views.
  gradient_tables(Exec const& exec, std::vector<strided> sums, bool lends)
      : views_(sums.size()), lends_(lends), touched_(exec, sums.size()) {
    for (auto& set : gradients_)
      set = {exec, "accrue::passes::gradients", std::vector<strided>(views_), table_versions};
    sums_ = {exec, "accrue::passes::sums", std::move(sums)};
  }

  [[nodiscard]] touch_table<Exec>& touched() { return touched_; }
  [[nodiscard]] touch_table<Exec> const& touched() const { return touched_; }

  /// Checks a contribution against the parameters, `held` others being held already; throws with nothing changed.
  ///
  /// Cost: a look at each view where the same ones were held under this number before, or lay in the buffer; else some
  /// 50 ns for each.
  template <class... Items, class... Gradients>
  void check(view_directory& directory, std::tuple<Items...> const& items, std::tuple<Gradients...> const& gradients,
             int held) {
    if constexpr (sizeof...(Gradients) != sizeof...(Items)) {  // none, or the parameters were refused
      directory.no_gradients();
      memory_.look_at_none();
    } else {
      bool const may_be_in_buffer = lends_ && !touched_.any();
      if (memory_.look(views_, items, gradients, held, may_be_in_buffer) != finding::unknown) return;
      std::size_t view = 0;
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (directory.check(std::get<I>(items), std::get<I>(gradients), view), ...);
      }
      (std::index_sequence_for<Gradients...>{});
      placing const where = refuse_what_is_in_use(directory, held);
      bool const divided = where.in_buffer > 0 && where.in_buffer < where.given;
      if (!divided) memory_.note(items, gradients, lends_ && where.in_buffer > 0);
    }
  }

  /// Takes the contribution that was checked last as number `set` of those that one pass will add. Gradients that were
  /// written into the buffer itself are there already: `weight` waits until the next pass. Returns whether others are
  /// left for a pass.
  bool hold(view_directory const& directory, int set, double weight, bool may_stay_in_buffer) {
    auto const number = static_cast<std::size_t>(set);
    if (memory_.found() == finding::held_before) return given_[number] > 0;
    if (memory_.found() == finding::in_buffer && may_stay_in_buffer) {
      memory_.left_in_buffer();
      for (std::size_t v = 0; v < views_; ++v)
        if (memory_.in_buffer(v)) touched_.touch(directory[v].number, weight);
      return false;
    }
    std::int64_t given = 0;
    for (std::size_t v = 0; v < views_; ++v) {
      std::size_t const at = directory[v].number;
      strided gradient = directory.gradient(v);
      if (may_stay_in_buffer && lies_in_buffer(gradient, at)) {
        touched_.touch(at, weight);
        gradient = {};
      }
      given += gradient.scalar >= 0 ? 1 : 0;
      gradients_[number].set(at, gradient);
    }
    given_[number] = given;
    memory_.held_as(set);
    return given > 0;
  }

  /// Whether the contribution that was checked last is the one that was held under its number before.
  [[nodiscard]] bool recognised() const { return memory_.found() == finding::held_before; }

  /// Sends the tables of the first `count` sets to the device, and says what is touched by them for the first time.
  first_touch upload(Exec const& exec, int count) {
    for (int j = 0; j < count; ++j) gradients_[static_cast<std::size_t>(j)].upload(exec);
    touched_.upload(exec);
    if (touched_.all()) return first_touch::none;
    std::size_t fresh = 0;
    std::size_t given = 0;
    for (std::size_t at = 0; at < views_; ++at) {
      if (!is_held(at, count)) continue;
      ++given;
      fresh += touched_.is_touched(at) ? 0 : 1;
    }
    if (fresh == 0) return first_touch::none;
    return fresh == given ? first_touch::all : first_touch::some;
  }

  /// Notes that the first `count` sets are in the sums.
  void touch(int count) {
    if (touched_.settled()) return;
    for (std::size_t at = 0; at < views_; ++at)
      if (is_held(at, count)) touched_.touch(at, 1.0);
  }

  // For kernels, which see what was set before the upload.
  [[nodiscard]] strided const* sums() const { return sums_.data(); }
  [[nodiscard]] strided const* gradients(int set) const { return gradients_[static_cast<std::size_t>(set)].data(); }

 private:
  /// How many gradients there are, and how many of them lie in the buffer.
  struct placing {
    std::int64_t given = 0;
    std::int64_t in_buffer = 0;
  };

  /// A gradient in the memory of a sum, or of a contribution that waits for its pass, has overwritten it; but the first
  /// one of a group may lie in the buffer.
  [[nodiscard]] placing refuse_what_is_in_use(view_directory const& directory, int held) const {
    placing where;
    for (std::size_t v = 0; v < views_; ++v) {
      strided const& gradient = directory.gradient(v);
      if (gradient.scalar < 0) continue;
      std::size_t const at = directory[v].number;
      bool const mine = lies_in_buffer(gradient, at);
      ++where.given;
      where.in_buffer += mine ? 1 : 0;
      bool used = mine && touched_.is_touched(at);
      for (int j = 0; j < held; ++j) used = used || gradient.data == gradients_[std::size_t(j)][at].data;
      if (used && gradient.size > 0)
        throw error(joined({"accrue: the gradient of ", directory.name(v), " lies where one of this group is still ",
                            "needed"}),
                    "that one was overwritten", "ask for next_gradients() before each microbatch");
    }
    return where;
  }
  [[nodiscard]] bool lies_in_buffer(strided const& gradient, std::size_t at) const {
    strided const& sum = sums_[at];
    return gradient.scalar >= 0 && gradient.data == sum.data && gradient.scalar == sum.scalar && gradient.contiguous();
  }
  [[nodiscard]] bool is_held(std::size_t at, int count) const {
    bool held = false;
    for (int j = 0; j < count; ++j) held = held || gradients_[static_cast<std::size_t>(j)][at].scalar >= 0;
    return held;
  }

  static constexpr auto sets = static_cast<std::size_t>(Sets);

  std::size_t views_ = 0;
  bool lends_ = false;
  touch_table<Exec> touched_;
  device_table<strided, Exec> sums_;
  std::array<device_table<strided, Exec>, sets> gradients_;
  std::array<std::int64_t, sets> given_{};  ///< gradients of each set that a pass will add
  recognition<Sets> memory_;
};

}  // namespace accrue
#endif

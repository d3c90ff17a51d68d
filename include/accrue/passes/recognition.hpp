// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_RECOGNITION_HPP
#define ACCRUE_PASSES_RECOGNITION_HPP

#include <accrue/passes/view_directory.hpp>

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace accrue {

/// What tells at a glance that a view is one that was checked before: its type, where it lies, extents and strides.
class glance {
 public:
  template <class View>
  [[nodiscard]] bool is(View const& view) const {
    if (data_ != view.data() || type_ != &type_of<View>) return false;
    bool same = true;
    for (int r = 0; r < static_cast<int>(View::rank()); ++r)
      same = same && axes_[r].extent == static_cast<std::int64_t>(view.extent(r)) &&
             axes_[r].stride == static_cast<std::int64_t>(view.stride(r));
    return same;
  }
  [[nodiscard]] bool is_nothing() const { return type_ == nullptr; }

  template <class View>
  void look_at(View const& view) {
    data_ = view.data();
    type_ = &type_of<View>;
    for (int r = 0; r < static_cast<int>(View::rank()); ++r)
      axes_[r] = {static_cast<std::int64_t>(view.extent(r)), static_cast<std::int64_t>(view.stride(r))};
  }

 private:
  template <class View>
  static constexpr char type_of = 0;

  void const* data_ = nullptr;
  void const* type_ = nullptr;
  strided::axis axes_[max_rank]{};
};

/// Remembers the contributions that were held under each number, and one that lay in the buffer, so that those that
/// come again, as they do in every loop, need not be checked view by view.
template <int Sets>
class recognition {
 public:
  enum class finding { unknown, held_before, in_buffer };

  /// What the contribution that was looked at last turned out to be.
  [[nodiscard]] finding found() const { return found_; }
  /// Whether a contribution that lies in the buffer has a gradient of the view.
  [[nodiscard]] bool in_buffer(std::size_t view) const { return !in_buffer_[view].is_nothing(); }

  /// Looks whether this is what was held under the number `held`, or if `may_be_in_buffer` what lay in the buffer.
  template <class Items, class Gradients>
  finding look(std::size_t views, Items const& items, Gradients const& gradients, int held, bool may_be_in_buffer) {
    looked_at_.clear();
    found_ = finding::unknown;
    if (is(known_[static_cast<std::size_t>(held)], views, items, gradients))
      found_ = finding::held_before;
    else if (may_be_in_buffer && is(in_buffer_, views, items, gradients))
      found_ = finding::in_buffer;
    return found_;
  }
  void look_at_none() {
    looked_at_.clear();
    found_ = finding::unknown;
  }

  /// Notes a contribution that was checked, until it is held.
  template <class Items, class Gradients>
  void note(Items const& items, Gradients const& gradients, bool lies_in_buffer) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (view_directory::for_each_gradient(
           std::get<I>(items), std::get<I>(gradients), [&](auto const& g) { looked_at_.emplace_back().look_at(g); },
           [&] { looked_at_.emplace_back(); }),
       ...);
    }
    (std::make_index_sequence<std::tuple_size_v<Items>>{});
    if (lies_in_buffer) found_ = finding::in_buffer;
  }

  /// What was noted is held under this number. What is held under later ones was checked against what has been here
  /// until now, and is to be checked again.
  void held_as(int number) {
    for (auto later = static_cast<std::size_t>(number); later < known_.size(); ++later) known_[later].clear();
    known_[static_cast<std::size_t>(number)].swap(looked_at_);
  }
  void left_in_buffer() {
    if (!looked_at_.empty()) in_buffer_.swap(looked_at_);
  }

 private:
  template <class Items, class Gradients>
  [[nodiscard]] static bool is(std::vector<glance> const& known, std::size_t views, Items const& items,
                               Gradients const& gradients) {
    if (known.size() != views) return false;
    std::size_t view = 0;
    bool same = true;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (static_cast<void>(same = same && is_item(known, std::get<I>(items), std::get<I>(gradients), view)), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<Items>>{});
    return same;
  }
  template <class Item, class Gradient>
  [[nodiscard]] static bool is_item(std::vector<glance> const& known, Item const& item, Gradient const& gradient,
                                    std::size_t& view) {
    bool same = true;
    std::size_t const given = view_directory::for_each_gradient(
        item, gradient, [&](auto const& g) { same = same && known[view++].is(g); },
        [&] { same = same && known[view++].is_nothing(); });
    return same && given == view_directory::count_of(item);
  }

  std::array<std::vector<glance>, static_cast<std::size_t>(Sets)> known_;
  std::vector<glance> in_buffer_;
  std::vector<glance> looked_at_;  ///< by the last check, and not held yet
  finding found_ = finding::unknown;
};

}  // namespace accrue
#endif

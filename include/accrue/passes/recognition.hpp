// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_RECOGNITION_HPP
#define ACCRUE_PASSES_RECOGNITION_HPP

#include <accrue/passes/view_directory.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace accrue {

/// What tells at a glance that views are the same as before: of each its type, where it lies, extents and strides.
class glances {
 public:
  void clear() {
    words_.clear();
    present_.clear();
  }
  [[nodiscard]] bool empty() const { return words_.empty(); }
  /// Whether the view is there; else its parameter has no gradient.
  [[nodiscard]] bool has(std::size_t view) const { return present_[view] != 0; }

  template <class View>
  void add(View const& view) {
    words_.push_back(reinterpret_cast<std::uintptr_t>(&type_of<View>));
    words_.push_back(reinterpret_cast<std::uintptr_t>(view.data()));
    for (std::size_t r = 0; r != View::rank(); ++r) {
      words_.push_back(view.extent(r));
      words_.push_back(static_cast<std::uintptr_t>(view.stride(r)));
    }
    present_.push_back(1);
  }
  void add_absent() {
    words_.push_back(0);
    present_.push_back(0);
  }

  friend bool operator==(glances const& a, glances const& b) { return a.words_ == b.words_; }

 private:
  template <class View>
  static constexpr char type_of = 0;

  std::vector<std::uintptr_t> words_;
  std::vector<std::uint8_t> present_;
};

/// How many contributions are remembered under each number: a training loop goes round between a few of them.
inline constexpr std::size_t remembered = 4;

/// Remembers the last contributions that were held under each number, and one that lay in the buffer, so that those
/// that come again, as they do in every loop, need not be checked view by view.
template <int Sets>
class recognition {
 public:
  enum class finding { unknown, held_before, in_buffer };

  /// What the contribution that was looked at last turned out to be.
  [[nodiscard]] finding found() const { return found_; }
  /// Whether a contribution that lies in the buffer has a gradient of the view.
  [[nodiscard]] bool in_buffer(std::size_t view) const { return in_buffer_.has(view); }

  /// Looks whether this was held under the number `held`, beside the same under lower numbers, or if
  /// `may_be_in_buffer` what lay in the buffer.
  template <class Items, class Gradients>
  finding look(Items const& items, Gradients const& gradients, int held, bool may_be_in_buffer) {
    looked_at_.clear();
    bool countable = true;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (static_cast<void>(countable = glance_at(std::get<I>(items), std::get<I>(gradients)) && countable), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<Items>>{});
    found_ = finding::unknown;
    if (!countable) {
      looked_at_.clear();
    } else if (find(held)) {
      found_ = finding::held_before;
    } else if (may_be_in_buffer && looked_at_ == in_buffer_) {
      found_ = finding::in_buffer;
    }
    return found_;
  }
  /// A contribution of which nothing is to be remembered.
  void forget_look() {
    looked_at_.clear();
    found_ = finding::unknown;
  }
  /// The contribution that was looked at lies in the buffer.
  void note_in_buffer() { found_ = finding::in_buffer; }

  /// What was looked at is held under this number. Returns its slot there: the one that it had, or else that of the
  /// contribution that was not seen for the longest time.
  std::size_t hold(int number) {
    auto& slots = known_[static_cast<std::size_t>(number)];
    if (found_ != finding::held_before) {
      auto const oldest = std::min_element(slots.begin(), slots.end(),
                                           [](auto const& a, auto const& b) { return a.last_seen < b.last_seen; });
      slot_ = static_cast<std::size_t>(oldest - slots.begin());
      std::swap(oldest->views, looked_at_);
      oldest->identity = ++identities_;
      oldest->beside = held_;
    }
    slots[slot_].last_seen = ++looks_;
    held_[static_cast<std::size_t>(number)] = slots[slot_].identity;
    return slot_;
  }
  void left_in_buffer() { std::swap(in_buffer_, looked_at_); }

  /// What is held under a number, told apart from everything else that ever was.
  [[nodiscard]] std::int64_t identity(int number) const { return held_[static_cast<std::size_t>(number)]; }

 private:
  static constexpr auto sets = static_cast<std::size_t>(Sets);

  struct contribution {
    glances views;
    std::int64_t identity = 0;
    std::array<std::int64_t, sets> beside{};  ///< what was held under each number when it was checked
    std::int64_t last_seen = 0;
  };

  template <class Item, class Gradient>
  [[nodiscard]] bool glance_at(Item const& item, Gradient const& gradient) {
    std::size_t const given = view_directory::for_each_gradient(
        item, gradient, [&](auto const& g) { looked_at_.add(g); }, [&] { looked_at_.add_absent(); });
    return given == view_count(weights_of(item));
  }
  [[nodiscard]] bool find(int number) {
    auto const& slots = known_[static_cast<std::size_t>(number)];
    auto const known = std::find_if(slots.begin(), slots.end(), [&](contribution const& each) {
      return std::equal(held_.begin(), held_.begin() + number, each.beside.begin()) && looked_at_ == each.views;
    });
    slot_ = static_cast<std::size_t>(known - slots.begin());
    return known != slots.end();
  }

  std::array<std::array<contribution, remembered>, sets> known_;
  std::array<std::int64_t, sets> held_{};  ///< the identity of what is held under each number
  std::int64_t identities_ = 0;
  std::int64_t looks_ = 0;
  glances in_buffer_;
  glances looked_at_;
  std::size_t slot_ = 0;
  finding found_ = finding::unknown;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_ACCUMULATE_HOLDING_HPP
#define ACCRUE_ACCUMULATE_HOLDING_HPP

#include <accrue/accumulate/gate.hpp>
#include <accrue/core/contribution.hpp>
#include <accrue/core/diagnostics.hpp>
#include <accrue/core/slots.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

namespace accrue {

/// What a policy for the slot holding offers: how many sets of gradients wait to be added in one pass, and how many
/// sets the accumulator allocates and lends to the producer of gradients.
template <class Policy>
concept holding_policy = fills_slot<Policy, slot::holding> && requires {
  { Policy::sets } -> std::convertible_to<int>;
  { Policy::lent } -> std::convertible_to<int>;
  requires Policy::sets >= 1 && Policy::sets <= 4 && Policy::lent >= 0;
};

/// Adds each microbatch by itself, out of the caller's memory. The default.
struct one_at_a_time {
  using fills = slot::holding;
  static constexpr std::string_view name = "one_at_a_time";
  static constexpr int sets = 1;
  static constexpr int lent = 0;
  friend bool operator==(one_at_a_time const&, one_at_a_time const&) = default;
};

/// Keeps up to `Sets` sets of gradients alive and adds them in one pass; `next_gradients()` lends where to write.
///
/// Order: a gradient must stay as it is until its pass, which is launched with the last of `Sets` microbatches, with
/// the last of the group, or when somebody looks. Guarantee: the sums are formed in the order of one at a time, and
/// have its bits unless the compiler fuses products into sums. The first set that is lent is the buffer itself, so that
/// the first microbatch of a group costs no pass at all. Gradients that come again are kept alive from group to group,
/// until others come in their place. Cost: memory for `Sets` more gradients; per group of A microbatches of floats 8 A
/// + 24 bytes a parameter for two sets, 6 A + 24 for four, instead of 12 A + 24. `gather<1>` holds nothing back, and
/// saves the first pass.
template <int Sets>
struct gather {
  using fills = slot::holding;
  static constexpr std::string_view name = Sets == 1   ? "gather<1>"
                                           : Sets == 2 ? "gather<2>"
                                           : Sets == 3 ? "gather<3>"
                                                       : "gather<4>";
  static_assert(Sets >= 1 && Sets <= 4, ACCRUE_SAY_GATHER_OF_OTHER_NUMBER);
  static constexpr int sets = std::clamp(Sets, 1, 4);
  static constexpr int lent = sets;
  friend bool operator==(gather const&, gather const&) = default;
};

static_assert(holding_policy<one_at_a_time> && holding_policy<gather<1>> && holding_policy<gather<4>>);

namespace detail {
template <class Item>
inline constexpr bool owns_v = true;
template <gradient_item Item>
inline constexpr bool owns_v<Item> = !gradient_view_t<Item>::memory_traits::is_unmanaged;
template <>
inline constexpr bool owns_v<no_gradient_t> = false;
}  // namespace detail

/// Whether copies of a contribution keep the memory of its gradients alive.
template <class Contribution>
inline constexpr bool owns_memory_v = true;
template <template <class...> class Contribution, class... Items>
inline constexpr bool owns_memory_v<Contribution<Items...>> = (detail::owns_v<Items> || ...);

/// What is held back of an open group: how each contribution weighs, and the contributions, so that their views live.
///
/// A set of gradients that comes again under its number is kept from then on, until another comes: to copy thousands of
/// views takes longer than to add them.
template <int Sets>
class held_contributions {
 public:
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] bool full() const { return count_ == Sets; }
  [[nodiscard]] std::array<microbatch_weight, static_cast<std::size_t>(Sets)> const& weights() const {
    return weights_;
  }

  /// The `identity` is that of the contribution's views; they are `known` where they were held before.
  template <class Contribution>
  void add(microbatch_weight const& by, Contribution const& contribution, std::int64_t identity, bool known) {
    kept& at = alive_[static_cast<std::size_t>(count_)];
    weights_[static_cast<std::size_t>(count_++)] = by;
    if constexpr (Sets > 1 && owns_memory_v<Contribution>) {
      if (at.identity != identity || at.views == nullptr) at.views = std::make_shared<Contribution const>(contribution);
    } else {
      at.views.reset();
    }
    at.identity = identity;
    at.stays = known;
  }
  /// Has all that wait weigh so many times as much.
  void multiply(double factor) {
    for (int j = 0; j < count_; ++j) {
      weights_[static_cast<std::size_t>(j)].weight *= factor;
      weights_[static_cast<std::size_t>(j)].product *= factor;
    }
  }
  void clear() {
    for (kept& each : alive_)
      if (!each.stays) each.views.reset();
    count_ = 0;
  }

 private:
  struct kept {
    std::shared_ptr<void const> views;
    std::int64_t identity = 0;
    bool stays = false;
  };

  int count_ = 0;
  std::array<microbatch_weight, static_cast<std::size_t>(Sets)> weights_{};
  std::array<kept, static_cast<std::size_t>(Sets)> alive_;
};

}  // namespace accrue
#endif

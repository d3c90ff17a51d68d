// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_ADOPTED_HPP
#define ACCRUE_CORE_ADOPTED_HPP

#include <accrue/core/contribution.hpp>

#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace accrue {

/// A contribution whose memory was given away: its gradients become the sums.
template <class Contribution>
class adopted {
 public:
  static constexpr bool is_mean = Contribution::is_mean;
  explicit adopted(Contribution given)
      : given_(std::make_shared<Contribution>(std::move(given))), items(given_->items) {}

 private:
  std::shared_ptr<Contribution> given_;

 public:
  decltype(Contribution::items) const& items;
  [[nodiscard]] std::shared_ptr<Contribution> const& given() const { return given_; }
  /// Where the microbatch is ignored, nobody needs its memory.
  [[nodiscard]] std::optional<Contribution> give_back() const { return std::move(*given_); }
};

template <class T>
inline constexpr bool is_adopted_v = false;
template <class Contribution>
inline constexpr bool is_adopted_v<adopted<Contribution>> = true;

/// Keeps what was given away alive, until the next one takes its place.
class adopted_memory {
 public:
  /// Takes the place of what was there, which is returned if it is of the same type.
  template <class Contribution>
  std::optional<Contribution> exchange(std::shared_ptr<Contribution> next) {
    std::shared_ptr<void> const before = std::exchange(views_, std::move(next));
    void const* const type = std::exchange(type_, &type_of<Contribution>);
    if (before == nullptr || type != type_) return std::nullopt;
    return std::move(*static_cast<Contribution*>(before.get()));
  }

 private:
  template <class Contribution>
  static constexpr char type_of = 0;

  std::shared_ptr<void> views_;
  void const* type_ = nullptr;
};

namespace detail {
/// Whether nobody else can write to a view's memory.
template <class View>
[[nodiscard]] bool is_sole_owner(View const& view) {
  return !View::memory_traits::is_unmanaged && (view.use_count() == 1 || view.data() == nullptr);
}
}  // namespace detail

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_CLIP_POLICY_HPP
#define ACCRUE_FINALIZE_CLIP_POLICY_HPP

#include <accrue/core/slots.hpp>

#include <Kokkos_Core.hpp>
#include <concepts>
#include <string>
#include <string_view>

namespace accrue {

/// What a policy for the slot clip offers: the order of the norm it looks at, the factor for a norm, and the bound of
/// an element. `factor` and `bounded` are device functions; one of them is the identity.
///
/// `by_norm` says which of the two does the work, so that a microbatch is not measured in vain.
template <class Policy>
concept clip_policy = fills_slot<Policy, slot::clip> && requires(Policy const p, double norm, float element) {
  { Policy::by_norm } -> std::convertible_to<bool>;
  { p.norm_order() } -> std::convertible_to<double>;
  { p.factor(norm) } -> std::convertible_to<double>;
  { p.bounded(element) } -> std::convertible_to<float>;
};

/// Leaves the gradient alone; its Euclidean norm is reported. The default.
struct no_clip {
  using fills = slot::clip;
  static constexpr std::string_view name = "no_clip";
  static constexpr bool by_norm = false;
  static constexpr bool by_lanes = true;
  [[nodiscard]] constexpr double norm_order() const { return 2.0; }
  [[nodiscard]] KOKKOS_FUNCTION constexpr double factor(double) const { return 1.0; }
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION constexpr T bounded(T const& element) const {
    return element;
  }
  friend bool operator==(no_clip const&, no_clip const&) = default;
};

/// Clips the own gradient of every microbatch instead of the group's.
///
/// Order: after the microbatch's mean (its sum under the sum objective), before its weight.
/// Guarantee: not the update of the full batch; ask for it only where that is meant.
template <clip_policy Clip>
class on_microbatch {
 public:
  using fills = slot::clip;
  static constexpr std::string_view name = "on_microbatch";

  explicit on_microbatch(Clip clip) : clip_(clip) {}

  [[nodiscard]] Clip const& clip() const { return clip_; }
  void validate() const { accrue::validate(clip_); }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("clip", clip_);
  }
  friend bool operator==(on_microbatch const&, on_microbatch const&) = default;

 private:
  Clip clip_;
};
template <class Clip>
on_microbatch(Clip) -> on_microbatch<Clip>;

template <class T>
inline constexpr bool is_on_microbatch_v = false;
template <class Clip>
inline constexpr bool is_on_microbatch_v<on_microbatch<Clip>> = true;

/// Clips the gradient of every replica, its own mean (its sum under the sum objective), instead of the group's.
///
/// Order: before the sum over the replicas. Guarantee: not the update of the full batch; ask for it only where that is
/// meant. Cost: one more read of the sums. Needs replicas whose gradients arrive as their own.
template <clip_policy Clip>
  requires(Clip::by_norm)
class on_replica {
 public:
  using fills = slot::clip;
  static constexpr std::string_view name = "on_replica";

  explicit on_replica(Clip clip) : clip_(clip) {}

  [[nodiscard]] Clip const& clip() const { return clip_; }
  void validate() const { accrue::validate(clip_); }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("clip", clip_);
  }
  friend bool operator==(on_replica const&, on_replica const&) = default;

 private:
  Clip clip_;
};
template <class Clip>
on_replica(Clip) -> on_replica<Clip>;

template <class T>
inline constexpr bool is_on_replica_v = false;
template <class Clip>
inline constexpr bool is_on_replica_v<on_replica<Clip>> = true;

/// The clip that acts on the group, and the one on the microbatch; a null pointer where there is none.
template <class Clip>
[[nodiscard]] auto group_clip_of(Clip const& clip) {
  if constexpr (is_on_microbatch_v<Clip> || is_on_replica_v<Clip>) {
    return no_clip{};
  } else {
    return clip;
  }
}
template <class Clip>
[[nodiscard]] auto microbatch_clip_of(Clip const& clip) {
  if constexpr (is_on_microbatch_v<Clip>) {
    return clip.clip();
  } else {
    return nullptr;
  }
}

static_assert(clip_policy<no_clip>);

}  // namespace accrue
#endif

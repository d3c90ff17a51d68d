// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_SHARED_SCALE_HPP
#define ACCRUE_FINALIZE_SHARED_SCALE_HPP

#include <accrue/core/diagnostics.hpp>
#include <accrue/core/scale_cell.hpp>
#include <accrue/finalize/dynamic_scale.hpp>
#include <accrue/finalize/loss_scale.hpp>

#include <Kokkos_Core.hpp>
#include <string_view>
#include <type_traits>
#include <utility>

namespace accrue {

/// One loss scale for several accumulators: the only thing that accumulators share.
///
/// Order: accumulators whose groups are open under it close together, with `update_together`: one decision, one change
/// of the scale. Guarantee: copies are the same scale; it lives as long as any of them. Failure: closing one of several
/// open groups alone is `accrue::error`, because the others were filled under a scale that would then change.
/// Example: `accrue::shared_scale scale(accrue::dynamic_scale{});` and `scale` among the policies of each accumulator.
template <class Policy = dynamic_scale, class Exec = Kokkos::DefaultExecutionSpace>
class shared_scale {
 public:
  using fills = slot::loss_scale;
  static constexpr std::string_view name = "shared_scale";
  static constexpr bool scales = true;

  explicit shared_scale(Policy policy) : shared_scale(Exec{}, std::move(policy)) {}
  shared_scale(Exec const& exec, Policy policy)
      : policy_((accrue::validate(policy), std::move(policy))), cell_(exec, policy_.initial_state()) {}

  [[nodiscard]] scale_cell<Exec> const& cell() const { return cell_; }
  [[nodiscard]] scale_cell<Exec>& cell() { return cell_; }
  [[nodiscard]] Policy const& scaling() const { return policy_; }

  [[nodiscard]] loss_scale_state initial_state() const { return policy_.initial_state(); }
  [[nodiscard]] loss_scale_state after(loss_scale_state state, bool overflow) const {
    return policy_.after(state, overflow);
  }
  [[nodiscard]] bool stops_at_floor() const { return policy_.stops_at_floor(); }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("scaling", policy_);
  }
  /// Whether both are the same scale.
  friend bool operator==(shared_scale const& a, shared_scale const& b) { return a.cell_.data() == b.cell_.data(); }

 private:
  Policy policy_;
  scale_cell<Exec> cell_;
};
template <class Policy>
shared_scale(Policy) -> shared_scale<Policy>;
template <class Exec, class Policy>
shared_scale(Exec, Policy) -> shared_scale<Policy, Exec>;

template <class T>
inline constexpr bool is_shared_scale_v = false;
template <class Policy, class Exec>
inline constexpr bool is_shared_scale_v<shared_scale<Policy, Exec>> = true;

namespace detail {
template <class Policy>
struct scaling_of {
  using type = Policy;
  static Policy const& get(Policy const& p) { return p; }
  template <class Exec>
  static scale_cell<Exec> cell(Exec const& exec, Policy const& p) {
    return {exec, p.initial_state()};
  }
};
template <class Policy, class Space>
struct scaling_of<shared_scale<Policy, Space>> {
  using type = Policy;
  static Policy const& get(shared_scale<Policy, Space> const& p) { return p.scaling(); }
  template <class Exec>
  static scale_cell<Exec> cell(Exec const& exec, shared_scale<Policy, Space> const& p) {
    constexpr bool same_space = std::is_same_v<Exec, Space>;
    static_assert(same_space, ACCRUE_SAY_SCALE_ELSEWHERE);
    if constexpr (same_space)
      return p.cell().on(exec);
    else
      return {exec, p.initial_state()};
  }
};
}  // namespace detail

}  // namespace accrue
#endif

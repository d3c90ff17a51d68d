// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_VETO_HPP
#define ACCRUE_FINALIZE_VETO_HPP

#include <accrue/core/group_finding.hpp>
#include <accrue/core/slots.hpp>
#include <accrue/core/user_function.hpp>

#include <Kokkos_Core.hpp>
#include <concepts>
#include <string_view>
#include <utility>

namespace accrue {

/// What a policy for the slot veto offers: where its predicate is called, on the device inside the update pass, on the
/// host before it, or nowhere; `policy(group_finding)` is true where the update is not to be applied.
template <class Policy>
concept veto_policy = fills_slot<Policy, slot::veto> && requires(Policy const p, group_finding const& found) {
  { Policy::on_device } -> std::convertible_to<bool>;
  { Policy::on_host } -> std::convertible_to<bool>;
  { p(found) } -> std::convertible_to<bool>;
};

/// Every finite update is applied. The default.
struct no_veto {
  using fills = slot::veto;
  static constexpr std::string_view name = "no_veto";
  static constexpr bool on_device = false;
  static constexpr bool on_host = false;
  [[nodiscard]] KOKKOS_FUNCTION constexpr bool operator()(group_finding const&) const { return false; }
  friend bool operator==(no_veto const&, no_veto const&) = default;
};

/// Skips a finite update where a device function of norm, loss and counts of the group says so: outcome `vetoed`.
///
/// Guarantee: all or nothing, as for a group that is not finite; a loss scale does not change. Cost: none, the
/// predicate is called by every worker of the update pass. Example:
/// `accrue::veto_if(KOKKOS_LAMBDA(accrue::group_finding const& g) { return g.norm > 100.0; })`
template <class Predicate>
class veto_if {
 public:
  using fills = slot::veto;
  static constexpr std::string_view name = "veto_if";
  static constexpr bool on_device = true;
  static constexpr bool on_host = false;
  explicit veto_if(Predicate predicate) : predicate_(std::move(predicate)) {}
  [[nodiscard]] KOKKOS_FUNCTION bool operator()(
      group_finding const& found) const requires std::predicate<Predicate const&, group_finding const&> {
    return predicate_.get()(found);
  }

  friend bool operator==(veto_if const& a, veto_if const& b) requires detail::comparable_function<Predicate> {
    return a.predicate_ == b.predicate_;
  }

 private:
  user_function<Predicate> predicate_;
};
template <class Predicate>
veto_if(Predicate) -> veto_if<Predicate>;

/// The same with a function on the host. Cost: one fence a group.
template <class Predicate>
class veto_on_host {
 public:
  using fills = slot::veto;
  static constexpr std::string_view name = "veto_on_host";
  static constexpr bool on_device = false;
  static constexpr bool on_host = true;
  explicit veto_on_host(Predicate predicate) : predicate_(std::move(predicate)) {}
  [[nodiscard]] bool operator()(
      group_finding const& found) const requires std::predicate<Predicate const&, group_finding const&> {
    return predicate_.get()(found);
  }
  friend bool operator==(veto_on_host const& a, veto_on_host const& b) requires detail::comparable_function<Predicate> {
    return a.predicate_ == b.predicate_;
  }

 private:
  user_function<Predicate> predicate_;
};
template <class Predicate>
veto_on_host(Predicate) -> veto_on_host<Predicate>;

static_assert(veto_policy<no_veto>);

}  // namespace accrue
#endif

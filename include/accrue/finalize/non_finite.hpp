// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_NON_FINITE_HPP
#define ACCRUE_FINALIZE_NON_FINITE_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/core/slots.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>

namespace accrue {

/// What a policy for the slot non-finite offers: whether bad microbatches are looked for and left out, and above which
/// norm one is bad; whether a group that is skipped is an error; how many groups in a row may fail, 0 for any number.
template <class Policy>
concept non_finite_policy = fills_slot<Policy, slot::non_finite> && requires(Policy const p) {
  { Policy::rejects } -> std::convertible_to<bool>;
  { Policy::raises } -> std::convertible_to<bool>;
  { p.largest_norm() } -> std::convertible_to<double>;
  { p.most_skips_in_a_row() } -> std::convertible_to<std::int64_t>;
};

namespace detail {
inline void require_skip_limit(std::int64_t limit) {
  if (limit < 0)
    throw error("accrue: max_consecutive is negative", "it counts skips in a row", "give 0 for no limit, or more");
}
}  // namespace detail

/// A group with NaN or Inf in its gradient changes nothing: no parameter, no optimizer state, no counter. The default.
///
/// Failure: with `max_consecutive` above 0, the call that closes the group with which as many in a row were skipped
/// throws `accrue::error`; that group is closed and on the record, the parameters are as before it. Cost: none; with a
/// limit the host looks at each update, one fence a group on devices.
struct skip_group {
  using fills = slot::non_finite;
  static constexpr std::string_view name = "skip_group";
  static constexpr bool rejects = false;
  static constexpr bool raises = false;

  std::int64_t max_consecutive = 0;  ///< skips in a row that stop the run; 0: none does

  [[nodiscard]] double largest_norm() const { return std::numeric_limits<double>::infinity(); }
  [[nodiscard]] std::int64_t most_skips_in_a_row() const { return max_consecutive; }
  void validate() const { detail::require_skip_limit(max_consecutive); }
  template <class Visit>
  void settings(Visit&& visit) const {
    if (max_consecutive > 0) visit("max_consecutive", max_consecutive);
  }
  friend bool operator==(skip_group const&, skip_group const&) = default;
};

/// A group with NaN or Inf in its gradient is skipped as under `skip_group`, and the call that closes it throws.
///
/// Cost: one fence a group on devices. Failure: `accrue::error` after the group is closed and on the record.
struct raise {
  using fills = slot::non_finite;
  static constexpr std::string_view name = "raise";
  static constexpr bool rejects = false;
  static constexpr bool raises = true;

  [[nodiscard]] double largest_norm() const { return std::numeric_limits<double>::infinity(); }
  [[nodiscard]] std::int64_t most_skips_in_a_row() const { return 0; }
  friend bool operator==(raise const&, raise const&) = default;
};

/// A microbatch with NaN or Inf in its gradient, or whose own norm is above `max_norm`, is left out together with its
/// counts and its loss; the others make the update.
///
/// The own gradient is the microbatch's unscaled mean, its sum under the sum objective; the norm is Euclidean, or that
/// of the clip placed on the microbatch. Guarantee: nothing of a rejected microbatch touches the sums; the ledger knows
/// its number, the cause, its norm and its sample ids. A microbatch that was not finite counts as an overflow for a
/// dynamic loss scale, even where it leaves the group empty. Sums that overflow though all microbatches are finite
/// skip the group. Cost: one more read of each gradient and two small launches; with a boundary that counts samples or
/// tokens one fence a microbatch on devices. Failure: as `skip_group`; a group that rejections left empty counts as a
/// skip in a row.
struct reject_microbatch {
  using fills = slot::non_finite;
  static constexpr std::string_view name = "reject_microbatch";
  static constexpr bool rejects = true;
  static constexpr bool raises = false;

  double max_norm = std::numeric_limits<double>::infinity();
  std::int64_t max_consecutive = 0;

  [[nodiscard]] double largest_norm() const { return max_norm; }
  [[nodiscard]] std::int64_t most_skips_in_a_row() const { return max_consecutive; }
  void validate() const {
    detail::require_skip_limit(max_consecutive);
    if (is_not_a_number(max_norm) || !(max_norm > 0.0))
      throw error("accrue::reject_microbatch: max_norm is not above 0", "every microbatch would be rejected",
                  "give a positive bound, or leave it out for none");
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    if (max_norm <= std::numeric_limits<double>::max()) visit("max_norm", max_norm);
    if (max_consecutive > 0) visit("max_consecutive", max_consecutive);
  }
  friend bool operator==(reject_microbatch const&, reject_microbatch const&) = default;
};

static_assert(non_finite_policy<skip_group> && non_finite_policy<raise> && non_finite_policy<reject_microbatch>);

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_BATCH_TARGET_HPP
#define ACCRUE_PLAN_BATCH_TARGET_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/exact_product.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/refusal.hpp>
#include <accrue/plan/units.hpp>

#include <concepts>
#include <cstdint>
#include <numeric>
#include <optional>

namespace accrue::plan {

/// What an update is to have: samples, positions of samples of one length, or supervised tokens of samples whose
/// average was measured.
///
/// Guarantee: exact; an average is kept as the fraction that it is. Of tokens an update has so many in expectation
/// only. Example: `microbatches_for(batch_target(positions{4'000'000}, length{4096}), samples{8})`
template <class Unit>
class batch_target {
 public:
  constexpr explicit batch_target(samples target) noexcept requires std::same_as<Unit, samples> : target_(target) {}
  constexpr batch_target(positions target, length sequence) noexcept requires std::same_as<Unit, positions>
      : target_(target), each_(sequence.value()) {}
  /// An average of so many tokens in so many samples.
  constexpr batch_target(tokens target, tokens measured, samples in) noexcept requires std::same_as<Unit, tokens>
      : target_(target), each_(measured.value()), in_(in.value()) {
    std::int64_t const common = std::gcd(each_, in_);
    if (common > 1) each_ /= common, in_ /= common;
  }

  [[nodiscard]] constexpr Unit target() const noexcept { return target_; }
  /// So many of the unit are in `in()` samples.
  [[nodiscard]] constexpr std::int64_t each() const noexcept { return each_; }
  [[nodiscard]] constexpr std::int64_t in() const noexcept { return in_; }

  /// Why no batch has it: `no_target`, `no_length` where a sample has nothing, `no_lengths` where none was measured.
  [[nodiscard]] constexpr std::optional<refusal> wrong() const noexcept {
    if (target_ == Unit{}) return refusal::no_target;
    if (in_ == 0) return refusal::no_lengths;
    if (each_ == 0) return refusal::no_length;
    return std::nullopt;
  }

  /// The samples that have it exactly.
  ///
  /// Failure: as `wrong()`; `off_target` where no whole number has it; `too_large`.
  [[nodiscard]] constexpr planned<samples> in_samples() const noexcept {
    if (auto const why = wrong()) return *why;
    auto const all = exact_product<samples>({target_.value(), in_});
    if (!all) return *all.reason();
    if (all.value().value() % each_ != 0) return refusal::off_target;
    return samples{all.value().value() / each_};
  }

  friend constexpr bool operator==(batch_target const&, batch_target const&) = default;

 private:
  Unit target_;
  std::int64_t each_ = 1;
  std::int64_t in_ = 1;
};
batch_target(samples)->batch_target<samples>;
batch_target(positions, length)->batch_target<positions>;
batch_target(tokens, tokens, samples)->batch_target<tokens>;

}  // namespace accrue::plan
#endif

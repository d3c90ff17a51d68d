// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_MISSED_TARGET_HPP
#define ACCRUE_PLAN_MISSED_TARGET_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/units.hpp>
#include <accrue/plan/batch_target.hpp>
#include <accrue/plan/exact_product.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/units.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

namespace accrue::plan {

/// A count that can be had, of samples a microbatch, microbatches a group or replicas, and the batch that it really
/// gives.
template <class Count>
struct neighbour {
  Count count;
  samples effective_batch;

  friend bool operator==(neighbour const&, neighbour const&) = default;
};
template <class Count>
neighbour(Count, samples) -> neighbour<Count>;

/// Why no count meets a target in samples, positions or tokens; when it lies between two of them
/// (`refusal::off_target`), which they are.
template <class Count, class Unit = samples>
struct missed_target {
  refusal why = refusal::off_target;
  Unit target{};
  std::optional<neighbour<Count>> below{};  ///< nothing where a count of 1 is too much already
  std::optional<neighbour<Count>> above{};  ///< nothing where its batch exceeds 63 bits

  friend bool operator==(missed_target const&, missed_target const&) = default;
};

/// The error that `planned::value()` throws for a missed target: names the neighbours and their true batches.
template <class Count, class Unit>
[[nodiscard]] error as_error(missed_target<Count, Unit> const& missed) {
  auto const [what, why, way_out] = explain(missed.why);
  if (missed.why != refusal::off_target) return error(what, why, way_out);

  std::string offers;
  std::array const offered{missed.below, missed.above};  // nvcc 13 garbles a loop over a list in braces
  for (auto const& offer : offered) {
    if (!offer) continue;
    std::string const count = std::to_string(offer->count.value());
    if (!offers.empty()) offers += ", ";
    if constexpr (std::same_as<Count, microbatches>)
      offers += joined({"a group of ", count, " gives "});
    else if constexpr (std::same_as<Count, samples>)
      offers += joined({"microbatches of ", count, " give "});
    else
      offers += joined({count, " ", Count::unit_type::name, " give "});
    offers += std::to_string(offer->effective_batch.value());
    if constexpr (!std::same_as<Unit, samples>) offers += " samples";
  }
  return error(joined({"accrue::plan: no whole number of ", Count::unit_type::name, " meets the target of ",
                       std::to_string(missed.target.value()), " ", Unit::unit_type::name}),
               offers, way_out);
}

namespace detail {

/// The count that times `a` times `b` samples has the target, of which nothing is wrong.
template <class Count, class Unit>
[[nodiscard]] constexpr planned<Count, missed_target<Count, Unit>> solved(batch_target<Unit> const& target,
                                                                          std::int64_t a, std::int64_t b) noexcept {
  using missed = missed_target<Count, Unit>;
  auto const wanted = exact_product<samples>({target.target().value(), target.in()});
  auto const one = exact_product<samples>({a, b, target.each()});
  if (!wanted || !one) return missed{refusal::too_large, target.target()};

  std::int64_t const each = one.value().value();
  std::int64_t const whole = wanted.value().value() / each;
  if (wanted.value().value() % each == 0) return Count{whole};

  missed between{refusal::off_target, target.target()};
  if (whole > 0) between.below = neighbour<Count>{Count{whole}, samples{whole * (a * b)}};
  if (exact_product<samples>({whole + 1, each}))
    between.above = neighbour<Count>{Count{whole + 1}, samples{(whole + 1) * (a * b)}};
  return between;
}

}  // namespace detail

}  // namespace accrue::plan
#endif

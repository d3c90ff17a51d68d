// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_RAMP_HPP
#define ACCRUE_PLAN_RAMP_HPP

#include <accrue/core/units.hpp>
#include <accrue/plan/exact_product.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/refusal.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace accrue::plan {

/// A value, such as A or the samples of a batch, that goes linearly from one to another while a count goes to `over`:
/// updates, samples or tokens.
///
/// The value at a count between is rounded to the nearest, half to even; from `over` on it is `to`. Failure:
/// `too_large` where their product exceeds 63 bits. Source: the warm-up of A from 1 in Ultralytics' trainers; the
/// linear batch ramp of Megatron-Core (rampup_batch_size). Example:
/// `group.change_boundary(every{ramp.at(group.ledger().applied()).value()})`
template <class Value, class Count>
struct linear_ramp {
  Value from;
  Value to;
  Count over;

  [[nodiscard]] constexpr planned<Value> at(Count count) const noexcept {
    std::int64_t const whole = over.value(), done = count.value() < whole ? count.value() : whole;
    if (whole == 0) return to;
    std::int64_t const a = from.value(), b = to.value();
    std::int64_t const rise = b >= a ? b - a : a - b;
    auto const product = exact_product<Value>({rise, done});
    if (!product) return *product.reason();
    std::int64_t part = product.value().value() / whole;
    std::int64_t const rest = product.value().value() % whole;
    bool const odd = (a % 2 != 0) != (part % 2 != 0);  // the value without the rest
    if (rest > whole - rest || (rest == whole - rest && odd)) ++part;
    return Value{b >= a ? a + part : a - part};
  }
};

template <class Value, class Count>
linear_ramp(Value, Value, Count) -> linear_ramp<Value, Count>;

/// One stage of a ramp: from this count on the value is `value`.
template <class Value, class Count>
struct stage {
  Count from;
  Value value;
};

template <class Value, class Count>
stage(Count, Value) -> stage<Value, Count>;

/// The first stage that is out of place: it does not begin at 0 as the first one does, or not after the one before.
template <class Value, class Count>
[[nodiscard]] constexpr std::optional<std::size_t> misplaced_stage(
    std::span<stage<Value, Count> const> stages) noexcept {
  for (std::size_t s = 0; s < stages.size(); ++s)
    if (s == 0 ? stages[s].from != Count{} : !(stages[s - 1].from < stages[s].from)) return s;
  return std::nullopt;
}

/// The value of stages at a count.
///
/// Failure: `no_stage` where there is none, or one is misplaced.
template <class Value, class Count>
[[nodiscard]] constexpr planned<Value> value_at(std::span<stage<Value, Count> const> stages, Count count) noexcept {
  if (stages.empty() || misplaced_stage(stages)) return refusal::no_stage;
  Value found = stages[0].value;
  for (auto const& each : stages)
    if (!(count < each.from)) found = each.value;
  return found;
}

/// A value that changes at certain counts.
///
/// Failure: `no_stage` from `at` where the first stage does not begin at 0, or one does not come after the one before.
template <class Value, class Count, std::size_t Stages>
struct staged_ramp {
  std::array<stage<Value, Count>, Stages> stages;

  [[nodiscard]] constexpr planned<Value> at(Count count) const noexcept {
    return value_at(std::span<stage<Value, Count> const>(stages), count);
  }
};
template <class Value, class Count, class... More>
staged_ramp(stage<Value, Count>, More...) -> staged_ramp<Value, Count, 1 + sizeof...(More)>;

}  // namespace accrue::plan
#endif

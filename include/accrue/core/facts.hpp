// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_FACTS_HPP
#define ACCRUE_CORE_FACTS_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/scalar.hpp>
#include <accrue/core/units.hpp>

#include <Kokkos_Core.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace accrue {

/// The real-valued count of a microbatch under `weighted`: finite and at least 0.
class weight {
 public:
  constexpr weight() = default;
  template <class Number>
    requires(std::floating_point<Number> || std::integral<Number>)
  constexpr explicit weight(Number value) : value_(static_cast<double>(value)) {
    if (!is_finite(value_) || !(value_ >= 0.0))
      throw error("accrue::weight: not a finite number of at least 0",
                  "the group's gradient is divided by the sum of weights", "give 0 to leave a microbatch out");
    if (value_ != 0.0 && (value_ < 1e-30 || value_ > 1e30))
      throw error("accrue::weight: not between 1e-30 and 1e30", "a sum in float would vanish or overflow",
                  "weights are relative: scale all of them");
  }
  [[nodiscard]] constexpr double value() const noexcept { return value_; }
  friend constexpr bool operator==(weight, weight) = default;

 private:
  double value_ = 0.0;
};

/// Says that a microbatch is the last of its group, where no boundary can know: its pass then measures the norm as
/// well.
///
/// It is a hint, which saves one read of the sums: whatever comes after it is counted and measured like the rest.
/// Example: `group.accumulate(accrue::mean_gradient{g}, accrue::tokens{512}, accrue::last_contribution);`
struct last_contribution_t {
  explicit last_contribution_t() = default;
};
inline constexpr last_contribution_t last_contribution{};

/// Which samples a microbatch consists of, by numbers of the user: for the record of what was left out.
///
/// Order: read during the call; where nothing is left out nobody reads them.
struct sample_ids {
  std::int64_t const* data = nullptr;
  std::size_t size = 0;
  sample_ids(std::int64_t const* first, std::size_t count) : data(first), size(count) {}
  template <class Range>
    requires requires(Range const& r) {
      { r.data() } -> std::convertible_to<std::int64_t const*>;
      { r.size() } -> std::convertible_to<std::size_t>;
    }
  explicit sample_ids(Range const& ids) : data(ids.data()), size(ids.size()) {}
};

/// What a microbatch says of itself beside its gradients. A count that was not given reads 0.
struct microbatch_facts {
  accrue::samples samples;
  accrue::tokens tokens;  ///< supervised ones only
  accrue::ignored_tokens ignored_tokens;
  accrue::positions positions;
  accrue::weight weight;
  bool declares_nothing = false;  ///< `samples{0}` or `tokens{0}` was given: the microbatch is ignored
  bool last = false;              ///< `last_contribution` was given

  constexpr void take(accrue::samples n) { samples = n, declares_nothing = declares_nothing || n.value() == 0; }
  constexpr void take(accrue::tokens n) { tokens = n, declares_nothing = declares_nothing || n.value() == 0; }
  constexpr void take(accrue::ignored_tokens n) { ignored_tokens = n; }
  constexpr void take(accrue::positions n) { positions = n; }
  constexpr void take(accrue::weight w) { weight = w; }
  constexpr void take(last_contribution_t) { last = true; }
  template <class Loss>
  constexpr void take(Loss const&) {}  // a loss is no count
};

template <class Fact>
concept counting_fact = std::same_as<Fact, samples> || std::same_as<Fact, tokens> ||
    std::same_as<Fact, ignored_tokens> || std::same_as<Fact, positions> || std::same_as<Fact, weight>;

/// Exact sums of the counts of several microbatches.
struct group_counts {
  accrue::microbatches microbatches;
  accrue::microbatches ignored_microbatches;  ///< among them, those whose declared count is 0
  accrue::samples samples;
  accrue::tokens tokens;
  accrue::ignored_tokens ignored_tokens;
  accrue::positions positions;

  constexpr void add(microbatch_facts const& facts, bool ignored) {
    microbatches += accrue::microbatches{1};
    ignored_microbatches += accrue::microbatches{ignored ? 1 : 0};
    samples += facts.samples;
    tokens += facts.tokens;
    ignored_tokens += facts.ignored_tokens;
    positions += facts.positions;
  }
  constexpr group_counts& operator+=(group_counts const& other) {
    microbatches += other.microbatches;
    ignored_microbatches += other.ignored_microbatches;
    samples += other.samples;
    tokens += other.tokens;
    ignored_tokens += other.ignored_tokens;
    positions += other.positions;
    return *this;
  }
  /// Without `other`, which is part of it.
  [[nodiscard]] constexpr group_counts without(group_counts const& other) const {
    group_counts rest;
    rest.microbatches = accrue::microbatches{microbatches.value() - other.microbatches.value()};
    rest.ignored_microbatches = accrue::microbatches{ignored_microbatches.value() - other.ignored_microbatches.value()};
    rest.samples = accrue::samples{samples.value() - other.samples.value()};
    rest.tokens = accrue::tokens{tokens.value() - other.tokens.value()};
    rest.ignored_tokens = accrue::ignored_tokens{ignored_tokens.value() - other.ignored_tokens.value()};
    rest.positions = accrue::positions{positions.value() - other.positions.value()};
    return rest;
  }
  friend constexpr bool operator==(group_counts const&, group_counts const&) = default;

  /// For a restart, see `field_writer`.
  template <class Visit>
  void state(Visit&& visit) {
    visit(microbatches, ignored_microbatches, samples, tokens, ignored_tokens, positions);
  }
};

/// The microbatch's loss, averaged over the unit of the normalization; a number, or a view of rank 0 on the device.
///
/// Cost: a number costs nothing; a view costs a launch over one element, and no fence.
template <class Value>
struct mean_loss {
  Value value;
  explicit mean_loss(Value v) : value(v) {}
};
template <class Value>
mean_loss(Value) -> mean_loss<Value>;

/// The microbatch's loss, summed over the unit of the normalization; a number, or a view of rank 0 on the device.
template <class Value>
struct sum_loss {
  Value value;
  explicit sum_loss(Value v) : value(v) {}
};
template <class Value>
sum_loss(Value) -> sum_loss<Value>;

template <class T>
inline constexpr bool is_mean_loss_v = false;
template <class Value>
inline constexpr bool is_mean_loss_v<mean_loss<Value>> = true;
template <class T>
inline constexpr bool is_sum_loss_v = false;
template <class Value>
inline constexpr bool is_sum_loss_v<sum_loss<Value>> = true;

template <class Fact>
concept loss_fact = is_mean_loss_v<Fact> || is_sum_loss_v<Fact>;

/// Failure: `accrue::error` for a loss that is a view without memory.
template <class Fact>
void refuse_bad_loss([[maybe_unused]] Fact const& fact) {
  if constexpr (loss_fact<Fact>) {
    if constexpr (Kokkos::is_view_v<std::remove_cvref_t<decltype(fact.value)>>) {
      if (fact.value.data() == nullptr)
        throw error("accrue: the view of the loss was never allocated", "there is nothing to read",
                    "construct it with a label, or leave the loss out");
    }
  }
}

template <class Fact>
concept microbatch_fact =
    counting_fact<Fact> || loss_fact<Fact> || std::same_as<Fact, last_contribution_t> || std::same_as<Fact, sample_ids>;

template <class Wanted, class... Facts>
inline constexpr bool has_fact = (std::same_as<Wanted, Facts> || ...);

template <class Wanted, class... Facts>
inline constexpr int times_given = (0 + ... + int(std::same_as<Wanted, Facts>));

/// No count is given twice, nor more than one loss.
template <class... Facts>
concept facts_once = ((0 + ... + int(loss_fact<Facts>)) <= 1) && ((times_given<Facts, Facts...> == 1) && ...);

}  // namespace accrue
#endif

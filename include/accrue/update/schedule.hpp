// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_UPDATE_SCHEDULE_HPP
#define ACCRUE_UPDATE_SCHEDULE_HPP

#include <accrue/core/diagnostics.hpp>
#include <accrue/core/run_clock.hpp>
#include <accrue/core/slots.hpp>
#include <accrue/core/units.hpp>
#include <accrue/core/user_function.hpp>
#include <accrue/update/update_policy.hpp>

#include <Kokkos_Core.hpp>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace accrue {

/// A factor that depends on how far the run is: `factor(done)` is a device function of the count in its `unit`, without
/// the group that is being closed, so that the first update sees 0.
template <class T>
concept schedule_policy = fills_slot<T, slot::schedule> && requires(T const s, std::int64_t done) {
  { T::unit } -> std::convertible_to<clock_unit>;
  { s.factor(done) } -> std::convertible_to<double>;
};

/// One that has an end, after which it stays as it is.
template <class T>
concept ending_schedule = schedule_policy<T> && requires(T const s) {
  { s.length() } -> std::convertible_to<std::int64_t>;
};

/// The factor for the update of the group that is open or closes next, from the ledger of its accumulator.
///
/// Cost: `ledger()` itself fences; a schedule in `scheduled` does not, it is asked where the update runs.
template <schedule_policy Schedule, class Ledger>
[[nodiscard]] double factor_now(Schedule const& schedule, Ledger const& book) {
  switch (Schedule::unit) {
    case clock_unit::applied_updates:
      return schedule.factor(book.applied().value());
    case clock_unit::attempted_updates:
      return schedule.factor(book.attempted().value());
    case clock_unit::handed_samples:
      return schedule.factor(book.over_replicas().samples.value());
    case clock_unit::handed_tokens:
      break;
  }
  return schedule.factor(book.over_replicas().tokens.value());
}

namespace schedule {

/// What a schedule of so many of a count goes by. Of updates it is the applied ones, see `of_attempted`.
template <class Count>
inline constexpr bool goes_by_v =
    std::is_same_v<Count, updates> || std::is_same_v<Count, samples> || std::is_same_v<Count, tokens>;

template <class Count>
inline constexpr clock_unit unit_of_v = std::is_same_v<Count, updates>   ? clock_unit::applied_updates
                                        : std::is_same_v<Count, samples> ? clock_unit::handed_samples
                                                                         : clock_unit::handed_tokens;

/// The length of a schedule, and what all schedules with one have in common; `Schedule` has a name and a factor.
template <class Schedule, class Count>
class lasting {
  static_assert(goes_by_v<Count>, ACCRUE_SAY_SCHEDULE_UNIT);

 public:
  using fills = slot::schedule;
  using count_type = Count;
  static constexpr clock_unit unit = unit_of_v<Count>;

  explicit lasting(Count over) : over_(over.value()) {}

  [[nodiscard]] KOKKOS_FUNCTION std::int64_t length() const { return over_; }
  [[nodiscard]] double operator()(Count done) const { return static_cast<Schedule const&>(*this).factor(done.value()); }
  void validate() const { require_length(0); }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit(Count::unit_type::name, over_);
  }
  template <class Visit>
  void change_settings(Visit&& visit) {
    visit(over_);
  }
  friend bool operator==(lasting const&, lasting const&) = default;

 protected:
  /// The part of the length that is done, at most all of it.
  [[nodiscard]] KOKKOS_FUNCTION double share(std::int64_t done) const {
    return done < over_ ? static_cast<double>(done) / static_cast<double>(over_) : 1.0;
  }
  void require_length(std::int64_t least) const {
    if (over_ < least)
      throw error(joined({"accrue::schedule::", Schedule::name, ": lasts for ", std::to_string(over_)}),
                  "it would have nothing to divide by", joined({"give at least ", std::to_string(least)}));
  }
  static void require_factor(std::string_view setting, double value) {
    accrue::detail::require_setting(joined({"schedule::", Schedule::name}), setting, value);
  }

  std::int64_t over_;
};

/// A schedule from one factor to another, but for the way that it takes.
template <class Schedule, class Count>
class between : public lasting<Schedule, Count> {
  using base = lasting<Schedule, Count>;

 public:
  between(Count over, double from, double to) : base(over), from_(from), to_(to) {}

  void validate() const {
    base::validate();
    this->require_factor("from", from_);
    this->require_factor("to", to_);
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    base::settings(visit);
    visit("from", from_);
    visit("to", to_);
  }
  template <class Visit>
  void change_settings(Visit&& visit) {
    visit(this->over_, from_, to_);
  }
  friend bool operator==(between const&, between const&) = default;

 protected:
  double from_;
  double to_;
};

/// The same factor all the time. Several in a `sequence` are a staged schedule.
template <class Count>
class constant : public lasting<constant<Count>, Count> {
  using base = lasting<constant, Count>;

 public:
  static constexpr std::string_view name = "constant";
  explicit constant(Count over, double value = 1.0) : base(over), value_(value) {}

  [[nodiscard]] KOKKOS_FUNCTION double factor(std::int64_t) const { return value_; }
  void validate() const {
    base::validate();
    this->require_factor("value", value_);
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    base::settings(visit);
    visit("value", value_);
  }
  template <class Visit>
  void change_settings(Visit&& visit) {
    visit(this->over_, value_);
  }
  friend bool operator==(constant const&, constant const&) = default;

 private:
  double value_;
};

/// (n + 1) / over for the update after n applied ones, then 1: no update is lost to a factor of 0, and the one that
/// comes after `over` - 1 others is the first at 1. Source: as `plan::warm_up`; `torch.optim.lr_scheduler.LinearLR`
/// with `start_factor` 1 / over and `total_iters` over - 1.
class warm_up : public lasting<warm_up, updates> {
 public:
  static constexpr std::string_view name = "warm_up";
  explicit warm_up(updates over) : lasting(over) {}

  [[nodiscard]] KOKKOS_FUNCTION double factor(std::int64_t done) const {
    return done < over_ ? static_cast<double>(done + 1) / static_cast<double>(over_) : 1.0;
  }
};

/// From one factor to another in a straight line. Source: `torch.optim.lr_scheduler.LinearLR`,
/// `optax.linear_schedule`. A warm-up by samples or tokens begins above 0, or its first update changes nothing.
template <class Count>
class linear : public between<linear<Count>, Count> {
 public:
  static constexpr std::string_view name = "linear";
  linear(Count over, double from, double to) : between<linear, Count>(over, from, to) {}

  [[nodiscard]] KOKKOS_FUNCTION double factor(std::int64_t done) const {
    double const share = this->share(done);
    return share < 1.0 ? this->from_ + (this->to_ - this->from_) * share : this->to_;
  }
};

/// From one factor to another along half a cosine: to + (from - to) * (1 + cos(pi * done / over)) / 2, and then `to`.
///
/// Source: Loshchilov and Hutter 2017 (SGDR), equation 5; `torch.optim.lr_scheduler.CosineAnnealingLR`, which rises
/// again after `T_max`, where this stays; `optax.cosine_decay_schedule`. Warm restarts are several in a `sequence`.
template <class Count>
class cosine : public between<cosine<Count>, Count> {
 public:
  static constexpr std::string_view name = "cosine";
  explicit cosine(Count over, double from = 1.0, double to = 0.0) : between<cosine, Count>(over, from, to) {}

  [[nodiscard]] KOKKOS_FUNCTION double factor(std::int64_t done) const {
    double const share = this->share(done), rise = this->from_ - this->to_;
    return share < 1.0 ? this->to_ + rise * 0.5 * (1.0 + Kokkos::cos(Kokkos::numbers::pi * share)) : this->to_;
  }
};

/// 1 / sqrt(1 + done / over): half after three times `over`, and no end.
///
/// Source: Vaswani et al. 2017, section 5.3, after a warm-up as long as `over`; `get_inverse_sqrt_schedule` of Hugging
/// Face Transformers.
template <class Count>
class inverse_square_root : public lasting<inverse_square_root<Count>, Count> {
 public:
  static constexpr std::string_view name = "inverse_square_root";
  explicit inverse_square_root(Count over) : lasting<inverse_square_root, Count>(over) {}
  void length() const = delete;

  [[nodiscard]] KOKKOS_FUNCTION double factor(std::int64_t done) const {
    return 1.0 / Kokkos::sqrt(1.0 + static_cast<double>(done) / static_cast<double>(this->over_));
  }
  void validate() const { this->require_length(1); }
};

}  // namespace schedule

static_assert(ending_schedule<schedule::warm_up> && ending_schedule<schedule::constant<tokens>> &&
              ending_schedule<schedule::linear<samples>> && ending_schedule<schedule::cosine<updates>>);
static_assert(schedule_policy<schedule::inverse_square_root<updates>> &&
              !ending_schedule<schedule::inverse_square_root<updates>>);

}  // namespace accrue
#endif

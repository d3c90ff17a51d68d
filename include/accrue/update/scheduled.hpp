// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_UPDATE_SCHEDULED_HPP
#define ACCRUE_UPDATE_SCHEDULED_HPP

#include <accrue/core/diagnostics.hpp>
#include <accrue/core/run_clock.hpp>
#include <accrue/update/schedule.hpp>
#include <accrue/update/schedule_sequence.hpp>
#include <accrue/update/update_policy.hpp>

#include <Kokkos_Core.hpp>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace accrue {

namespace schedule {

/// A schedule of updates that goes by those that were attempted, skipped ones included.
template <schedule_policy Schedule>
  requires(Schedule::unit == clock_unit::applied_updates)
class of_attempted {
 public:
  using fills = slot::schedule;
  using count_type = updates;
  static constexpr std::string_view name = "of_attempted";
  static constexpr clock_unit unit = clock_unit::attempted_updates;

  explicit of_attempted(Schedule of) : of_(std::move(of)) {}

  [[nodiscard]] KOKKOS_FUNCTION double factor(std::int64_t done) const { return of_.factor(done); }
  [[nodiscard]] double operator()(updates done) const { return factor(done.value()); }
  void validate() const { accrue::validate(of_); }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("schedule", of_);
  }
  template <class Visit>
  void change_settings(Visit&& visit) {
    accrue::change_settings(of_, visit);
  }
  friend bool operator==(of_attempted const&, of_attempted const&) = default;

 private:
  Schedule of_;
};
template <class Schedule>
of_attempted(Schedule) -> of_attempted<Schedule>;

/// A schedule that is a function of the user; made by `by_function`.
template <class Count, class Function>
class function_of {
  static_assert(goes_by_v<Count>, ACCRUE_SAY_SCHEDULE_UNIT);

 public:
  using fills = slot::schedule;
  using count_type = Count;
  static constexpr std::string_view name = "by_function";
  static constexpr clock_unit unit = unit_of_v<Count>;

  explicit function_of(Function f) : function_(std::move(f)) {}

  [[nodiscard]] KOKKOS_FUNCTION double factor(std::int64_t done) const { return function_.get()(done); }
  [[nodiscard]] double operator()(Count done) const { return factor(done.value()); }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("unit", Count::unit_type::name);
  }
  friend bool operator==(function_of const& a, function_of const& b) requires detail::comparable_function<Function> {
    return a.function_ == b.function_;
  }

 private:
  user_function<Function> function_;
};

/// `f(done)` with the count as a `std::int64_t`; a device function, whose values nothing can check beforehand: finite,
/// and at least 0. A restart does not bring it back: construct it alike.
/// Example: `by_function<tokens>(KOKKOS_LAMBDA(std::int64_t n) { return n < 1000000 ? 1.0 : 0.1; })`
template <class Count, class Function>
[[nodiscard]] function_of<Count, Function> by_function(Function f) {
  return function_of<Count, Function>(std::move(f));
}

}  // namespace schedule

namespace detail {

template <class Rule>
concept has_learning_rate = update_policy<Rule> && requires(Rule rule, double factor) {
  rule.learning_rate *= factor;
};

template <class Schedule>
inline constexpr bool is_by_data_v = false;
template <schedule_policy Schedule>
inline constexpr bool is_by_data_v<Schedule> =
    Schedule::unit == clock_unit::handed_samples || Schedule::unit == clock_unit::handed_tokens;

/// What is launched of a rule with a schedule: the rule for the number of the update that the run has come to.
template <class Rule, class Schedule>
struct rule_on_clock {
  using fills = slot::update;
  static constexpr std::string_view name = "scheduled";
  using rule_type = Rule;

  Rule rule;
  Schedule schedule;
  run_clock clock;

  [[nodiscard]] int state_words() const { return rule.state_words(); }
  template <class Real>
  [[nodiscard]] KOKKOS_FUNCTION decltype(std::declval<Rule const&>().template for_update<Real>(std::int64_t{}))
  for_update(std::int64_t number) const {
    Rule now = rule;
    now.learning_rate *= schedule.factor(clock.read(Schedule::unit));
    return now.template for_update<Real>(number);
  }
};

}  // namespace detail

/// A rule whose learning rate is multiplied by a schedule, evaluated where the update runs, at each update.
///
/// Order: asked for the count without the group that is being closed, so that the first update sees 0. Guarantee: goes
/// by what the ledger counts: a skipped update does not advance a schedule of applied updates. Samples and tokens are
/// those handed over to closed groups on all replicas. A restart brings back the count and the settings. Cost: nothing
/// fences; the schedule is evaluated once for each chunk of a view. Failure: `accrue::error` for settings that make no
/// sense; does not compile for a rule without a `learning_rate`.
/// Example: `scheduled(adamw{.learning_rate = 3e-4}, schedule::cosine(updates{1000}))`
template <class Rule, class Schedule>
class scheduled {
  static constexpr bool has_rate = detail::has_learning_rate<Rule>;
  static constexpr bool schedules = schedule_policy<Schedule>;
  static_assert(has_rate, ACCRUE_SAY_RULE_WITHOUT_RATE);
  static_assert(schedules || !has_rate, ACCRUE_SAY_NOT_A_SCHEDULE);

 public:
  using fills = slot::update;
  static constexpr std::string_view name = "scheduled";
  /// Whether it depends on samples or tokens, which replicas have to count alike then.
  static constexpr bool goes_by_data = detail::is_by_data_v<Schedule>;

  explicit scheduled(Rule rule, Schedule schedule) : rule_(std::move(rule)), schedule_(std::move(schedule)) {}

  [[nodiscard]] Rule const& rule() const { return rule_; }
  [[nodiscard]] Schedule const& schedule() const { return schedule_; }

  [[nodiscard]] auto device_part(run_clock const& clock) const {
    if constexpr (has_rate && schedules)
      return detail::rule_on_clock<Rule, Schedule>{rule_, schedule_, clock};
    else
      return no_update{};
  }
  void validate() const {
    if constexpr (has_rate && schedules) {
      accrue::validate(rule_);
      accrue::validate(schedule_);
    }
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("rule", rule_);
    visit("schedule", schedule_);
  }
  template <class Visit>
  void change_settings(Visit&& visit) {
    accrue::change_settings(rule_, visit);
    accrue::change_settings(schedule_, visit);
  }
  friend bool operator==(scheduled const&, scheduled const&) = default;

 private:
  Rule rule_;
  Schedule schedule_;
};
template <class Rule, class Schedule>
scheduled(Rule, Schedule) -> scheduled<Rule, Schedule>;

}  // namespace accrue
#endif

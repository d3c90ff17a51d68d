// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_UPDATE_SCHEDULE_SEQUENCE_HPP
#define ACCRUE_UPDATE_SCHEDULE_SEQUENCE_HPP

#include <accrue/update/schedule.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace accrue::schedule {

/// Schedules one after the other: each begins at 0 where the one before it ends, and the last one goes on.
///
/// Guarantee: a length that exceeds 63 bits is 2^63 - 1; no count goes further.
/// Source: `torch.optim.lr_scheduler.SequentialLR`, `optax.join_schedules`.
/// Example: `sequence(warm_up(updates{100}), cosine(updates{900}))`
template <schedule_policy... Parts>
class sequence;

template <schedule_policy Last>
class sequence<Last> {
 public:
  using fills = slot::schedule;
  using count_type = typename Last::count_type;
  static constexpr std::string_view name = "sequence";
  static constexpr clock_unit unit = Last::unit;

  explicit sequence(Last last) : last_(std::move(last)) {}

  [[nodiscard]] KOKKOS_FUNCTION double factor(std::int64_t done) const { return last_.factor(done); }
  [[nodiscard]] double operator()(count_type done) const { return factor(done.value()); }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t length() const requires ending_schedule<Last> { return last_.length(); }
  void validate() const { accrue::validate(last_); }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("then", last_);
  }
  template <class Visit>
  void change_settings(Visit&& visit) {
    accrue::change_settings(last_, visit);
  }
  friend bool operator==(sequence const&, sequence const&) = default;

 private:
  Last last_;
};

template <schedule_policy First, schedule_policy Next, schedule_policy... Rest>
class sequence<First, Next, Rest...> {
  static constexpr bool one_unit = First::unit == Next::unit;
  static constexpr bool goes_on = ending_schedule<First>;
  static_assert(one_unit, ACCRUE_SAY_SCHEDULES_OF_TWO_UNITS);
  static_assert(goes_on || !one_unit, ACCRUE_SAY_ENDLESS_SCHEDULE);

 public:
  using fills = slot::schedule;
  using count_type = typename First::count_type;
  static constexpr std::string_view name = "sequence";
  static constexpr clock_unit unit = First::unit;

  explicit sequence(First first, Next next, Rest... rest)
      : first_(std::move(first)), rest_(std::move(next), std::move(rest)...) {}

  [[nodiscard]] KOKKOS_FUNCTION double factor(std::int64_t done) const {
    if constexpr (goes_on) {
      std::int64_t const length = first_.length();
      return done < length ? first_.factor(done) : rest_.factor(done - length);
    } else {
      return first_.factor(done);
    }
  }
  [[nodiscard]] double operator()(count_type done) const { return factor(done.value()); }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t length() const requires ending_schedule<sequence<Next, Rest...>> {
    std::int64_t const first = first_.length(), rest = rest_.length();
    return rest > longest - first ? longest : first + rest;
  }
  void validate() const {
    accrue::validate(first_);
    accrue::validate(rest_);
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("then", first_);
    rest_.settings(visit);
  }
  template <class Visit>
  void change_settings(Visit&& visit) {
    accrue::change_settings(first_, visit);
    accrue::change_settings(rest_, visit);
  }
  friend bool operator==(sequence const&, sequence const&) = default;

 private:
  // A member, because nvcc calls no `max()` in a device function.
  static constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();

  First first_;
  sequence<Next, Rest...> rest_;
};

template <class... Parts>
sequence(Parts...) -> sequence<Parts...>;

}  // namespace accrue::schedule
#endif

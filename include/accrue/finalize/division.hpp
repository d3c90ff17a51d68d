// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_DIVISION_HPP
#define ACCRUE_FINALIZE_DIVISION_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/facts.hpp>
#include <accrue/core/slots.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace accrue {

/// What a policy for the slot division offers: what the sums of an open group are divided by already, given the weight
/// N of the microbatches in them. `keeps_sums` says that this is 1 for every weight, so that nothing has to be done.
///
/// When N grows, the sums so far are multiplied by the old divisor over the new one, on the way, in the next pass; when
/// the group closes they are divided by what is left of N. One that knows more may refuse a weight: `check(N, closing)`
/// is asked, where there is one, before a microbatch is added and before the group closes, and throws `accrue::error`.
template <class Policy>
concept division_policy = fills_slot<Policy, slot::division> && requires(Policy const p, double weight) {
  { Policy::keeps_sums } -> std::convertible_to<bool>;
  { p.divided_by(weight) } -> std::convertible_to<double>;
};

/// Raw weighted sums are kept; one factor is applied at the end. The default.
///
/// Guarantee: nothing that a gradient holds vanishes: whole counts weigh 1 or more. A sum of w_i g_i that leaves the
/// range of the buffer is found as not finite, and the group skipped, even where its mean is a number. Cost: none.
struct late {
  using fills = slot::division;
  static constexpr std::string_view name = "late";
  static constexpr bool keeps_sums = true;
  [[nodiscard]] static constexpr double divided_by(double) { return 1.0; }
  friend bool operator==(late const&, late const&) = default;
};

/// The buffer holds the weighted mean of what has arrived: mean = mean * (N before / N) + g_i * (w_i / N).
///
/// Guarantee: nothing in the buffer is larger than the largest mean gradient that was handed over, so that a sum
/// overflows only where a gradient does. What is smaller than the smallest normal number of the buffer times N / w_i
/// loses bits, or vanishes: never a float16, whatever the counts.
/// Cost: no pass of its own; a multiplication per element, rounded once per microbatch. `rows` reads and writes the
/// whole sum of its parameter. On a device, with more than 512 views of which a group touches some only, a microbatch
/// may wait for the one four before it.
struct running {
  using fills = slot::division;
  static constexpr std::string_view name = "running";
  static constexpr bool keeps_sums = false;
  [[nodiscard]] static constexpr double divided_by(double weight) { return weight > 0.0 ? weight : 1.0; }
  friend bool operator==(running const&, running const&) = default;
};

namespace detail {
inline std::string text_of(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", number);
  return text;
}
inline std::string text_of(std::int64_t number) { return std::to_string(number); }

template <class Count>
[[nodiscard]] std::string_view unit_name() {
  if constexpr (std::same_as<Count, accrue::weight>)
    return "weight";
  else
    return Count::unit_type::name;
}
}  // namespace detail

/// The weight of the group is known before it opens: every gradient is divided by it as it arrives, and the sums are
/// the gradient. With named terms: their weights, in the order of the terms.
///
/// Order: `change_division` announces the next group, before its first microbatch. Guarantee: as of `running`, and
/// nothing is rounded again. Failure: more than was announced is `accrue::error` in `accumulate`, another weight than
/// the announced one in `update` and `end_of_data`; nothing is changed, and the group stays open. Weights that are real
/// numbers may differ by rounding. Cost: none.
/// Example: `accrue::early{accrue::tokens{2048}}`
template <class... Counts>
class early {
 public:
  using fills = slot::division;
  static constexpr std::string_view name = "early";
  static constexpr bool keeps_sums = false;
  static constexpr std::size_t announces = sizeof...(Counts);

  constexpr explicit early(Counts... weights) : weights_(weights...) {}

  /// What was announced, of the first or of another term.
  template <std::size_t Term = 0>
  [[nodiscard]] constexpr auto announced() const {
    return std::get<Term>(weights_);
  }
  template <std::size_t Term = 0>
  [[nodiscard]] constexpr double divided_by(double) const {
    auto const value = announced<Term>().value();
    return value > 0 ? static_cast<double>(value) : 1.0;
  }

  /// Failure: `accrue::error` where a group of weight `arrived` is not what was announced, or will not be.
  template <std::size_t Term = 0, class Number>
  void check(Number arrived, bool closing) const {
    auto const value = announced<Term>().value();
    if (closing ? same(arrived, value) : arrived <= value || same(arrived, value)) return;
    std::string_view const unit = detail::unit_name<std::remove_cvref_t<decltype(announced<Term>())>>();
    throw error(joined({"accrue::early: the group ", closing ? "weighs " : "would weigh ", detail::text_of(arrived),
                        ", and ", detail::text_of(value), " was announced (", unit, ")"}),
                "its gradients are divided by the announced weight as they arrive",
                "announce what will arrive with change_division() before the group opens; discard() gives it up");
  }

  template <class Visit>
  void settings(Visit&& visit) const {
    std::apply(
        [&](auto const&... each) {
          (visit(detail::unit_name<std::remove_cvref_t<decltype(each)>>(), each.value()), ...);
        },
        weights_);
  }
  template <class Visit>
  void change_settings(Visit&& visit) {
    std::apply([&](auto&... each) { (visit(each), ...); }, weights_);
  }
  friend bool operator==(early const&, early const&) = default;

 private:
  /// Whole numbers to the last digit; sums of real numbers but for their rounding.
  template <class Number, class Announced>
  [[nodiscard]] static bool same(Number arrived, Announced announced) {
    if constexpr (std::is_same_v<Number, std::int64_t> && std::is_same_v<Announced, std::int64_t>) {
      return arrived == announced;
    } else {
      auto const a = static_cast<double>(arrived);
      auto const b = static_cast<double>(announced);
      double const apart = a > b ? a - b : b - a;
      return apart <= 1e-12 * b;
    }
  }

  std::tuple<Counts...> weights_;
};
template <class... Counts>
early(Counts...) -> early<Counts...>;

template <class T>
inline constexpr bool is_early_v = false;
template <class... Counts>
inline constexpr bool is_early_v<early<Counts...>> = true;

namespace detail {
/// A weight can be announced as the count that the normalization needs, and as a plain weight in any case.
template <class Count, class Needs>
inline constexpr bool announces_v =
    std::is_same_v<Count, accrue::weight> ||
    std::is_same_v<Count, std::conditional_t<std::is_void_v<Needs>, microbatches, Needs>>;
}  // namespace detail

/// Whether a division announces what these normalizations divide by, if it announces anything.
template <class Division, class... Normalizations>
inline constexpr bool announces_weights_of = true;
template <class... Counts, class... Normalizations>
inline constexpr bool announces_weights_of<early<Counts...>, Normalizations...> = [] {
  if constexpr (sizeof...(Counts) == sizeof...(Normalizations))
    return (detail::announces_v<Counts, typename Normalizations::needs> && ...);
  else
    return false;
}();

/// Asks a division whether a weight is what it was told, if it wants to know.
template <division_policy Division, class Number>
void check_weight(Division const& division, Number arrived, bool closing) {
  if constexpr (requires { division.check(arrived, closing); }) division.check(arrived, closing);
}

static_assert(division_policy<late> && division_policy<running> && division_policy<early<tokens>>);

}  // namespace accrue
#endif

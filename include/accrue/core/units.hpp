// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_UNITS_HPP
#define ACCRUE_CORE_UNITS_HPP

#include <accrue/core/error.hpp>

#include <compare>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <string>
#include <string_view>

namespace accrue {

namespace unit {
struct samples {
  static constexpr std::string_view name = "samples";
};
struct tokens {
  static constexpr std::string_view name = "tokens";
};
struct ignored_tokens {
  static constexpr std::string_view name = "ignored tokens";
};
struct positions {
  static constexpr std::string_view name = "positions";
};
struct microbatches {
  static constexpr std::string_view name = "microbatches";
};
struct updates {
  static constexpr std::string_view name = "updates";
};
}  // namespace unit

namespace detail {
[[noreturn]] inline void refuse_overflow(std::string_view what, std::string_view unit) {
  throw error(joined({"accrue: a ", what, " of ", unit, " exceeds 63 bits"}), "the exact total would be lost",
              "check the counts that are handed over");
}
}  // namespace detail

/// An exact count whose unit is part of its type: `tokens{512}` is no `samples` and no number.
///
/// Guarantee: never negative, never rounded; a sum or product that does not fit into 63 bits is an error.
/// Failure: `accrue::error` at run time, a compile error in a constant expression.
template <class Unit>
class count {
 public:
  using unit_type = Unit;

  constexpr count() = default;

  template <std::integral Integer>
    requires(!std::same_as<Integer, bool>)
  constexpr explicit count(Integer value) : value_(checked(value)) {}

  [[nodiscard]] constexpr std::int64_t value() const noexcept { return value_; }

  friend constexpr bool operator==(count, count) = default;
  friend constexpr auto operator<=>(count, count) = default;

  constexpr count& operator+=(count other) {
    if (other.value_ > std::numeric_limits<std::int64_t>::max() - value_) overflow("sum");
    value_ += other.value_;
    return *this;
  }
  friend constexpr count operator+(count a, count b) { return a += b; }

  /// A count, this many times over; `factor` is a plain number, at least 0.
  template <std::integral Integer>
    requires(!std::same_as<Integer, bool>)
  [[nodiscard]] friend constexpr count operator*(count a, Integer factor) {
    std::int64_t const times = checked(factor);
    if (times != 0 && a.value_ > std::numeric_limits<std::int64_t>::max() / times) overflow("product");
    return count(a.value_ * times);
  }

  /// Prints the number and its unit, `512 tokens`.
  template <class Char, class Traits>
  friend std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out, count c) {
    out << c.value_ << Char(' ');
    for (char letter : Unit::name) out << Char(letter);
    return out;
  }

 private:
  template <std::integral Integer>
  static constexpr std::int64_t checked(Integer value) {
    if constexpr (std::signed_integral<Integer>) {
      if (value < 0)
        throw error(joined({"accrue: ", std::to_string(value), " ", Unit::name, ": a count is not negative"}),
                    "counts are numbers of things that happened", "give 0 or more");
    } else {
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) overflow("value");
    }
    return static_cast<std::int64_t>(value);
  }

  [[noreturn]] static void overflow(char const* what) { detail::refuse_overflow(what, Unit::name); }

  std::int64_t value_ = 0;
};

using samples = count<unit::samples>;                ///< examples
using tokens = count<unit::tokens>;                  ///< supervised tokens only
using ignored_tokens = count<unit::ignored_tokens>;  ///< positions without a target: padding, prompt
using positions = count<unit::positions>;            ///< examples times length, what a plan can know
using microbatches = count<unit::microbatches>;      ///< forward/backward passes
using updates = count<unit::updates>;                ///< changes of the parameters

}  // namespace accrue
#endif

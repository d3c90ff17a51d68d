// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_STATE_FIELDS_HPP
#define ACCRUE_CORE_STATE_FIELDS_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/facts.hpp>
#include <accrue/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace accrue {

using state_bytes = std::vector<unsigned char>;

/// What `load` throws: a `difference` between file and accumulator, or damage.
[[noreturn]] inline void refuse_state(std::initializer_list<std::string_view> what, std::string_view way_out) {
  throw error(joined({"accrue::load: ", joined(what)}), "nothing was changed", way_out);
}
[[noreturn]] inline void refuse_difference(std::initializer_list<std::string_view> what) {
  refuse_state(what, "construct the accumulator as the one that was saved");
}
[[noreturn]] inline void refuse_damage(std::initializer_list<std::string_view> what) {
  refuse_state(what, "take another copy, or an older state");
}

/// A text of a file as a message may show it.
[[nodiscard]] inline std::string printable(std::string_view text) {
  std::string shown(text.substr(0, 200));
  for (char& letter : shown)
    if (letter < ' ' || letter > '~') letter = '?';
  return shown;
}

namespace detail {
inline void put_little(state_bytes& to, std::uint64_t number, unsigned bytes) {
  for (unsigned b = 0; b < bytes; ++b) to.push_back(static_cast<unsigned char>(number >> 8 * b));
}
[[nodiscard]] inline std::uint64_t little(unsigned char const* from, unsigned bytes) {
  std::uint64_t number = 0;
  for (unsigned b = bytes; b > 0; --b) number = number << 8 | from[b - 1];
  return number;
}
template <class T>
inline constexpr bool is_count_v = false;
template <class Unit>
inline constexpr bool is_count_v<count<Unit>> = true;
}  // namespace detail

/// Writes plain values one after the other, little-endian: integers, counts and enumerations as 64 bits, real numbers
/// as the bits of a double, a bool as a byte, a text or a list of integers with its length.
///
/// A value that consists of others has a function `state(visit)`, which calls `visit(one, other, ...)`: it is the same
/// for writing and for reading.
class field_writer {
 public:
  [[nodiscard]] state_bytes const& bytes() const { return bytes_; }

  template <class... Fields>
  void operator()(Fields&... fields) {
    (put(fields), ...);
  }

 private:
  template <class T>
  void put(T& field) {
    using plain = std::remove_const_t<T>;
    if constexpr (requires { field.state(*this); }) {
      field.state(*this);
    } else if constexpr (std::is_same_v<plain, bool>) {
      detail::put_little(bytes_, field ? 1 : 0, 1);
    } else if constexpr (std::is_floating_point_v<plain>) {
      detail::put_little(bytes_, __builtin_bit_cast(std::uint64_t, static_cast<double>(field)), 8);
    } else if constexpr (detail::is_count_v<plain>) {
      detail::put_little(bytes_, static_cast<std::uint64_t>(field.value()), 8);
    } else if constexpr (std::is_same_v<plain, weight>) {
      double const value = field.value();
      (*this)(value);
    } else if constexpr (std::is_same_v<plain, std::optional<double>>) {
      bool const there = field.has_value();
      double const value = field.value_or(0.0);
      (*this)(there, value);
    } else if constexpr (std::is_same_v<plain, std::vector<std::int64_t>>) {
      detail::put_little(bytes_, field.size(), 8);
      for (std::int64_t const& each : field) (*this)(each);
    } else if constexpr (std::is_same_v<plain, std::string>) {
      detail::put_little(bytes_, field.size(), 8);
      bytes_.insert(bytes_.end(), field.begin(), field.end());
    } else {
      static_assert(std::is_integral_v<plain> || std::is_enum_v<plain>);
      detail::put_little(bytes_, static_cast<std::uint64_t>(static_cast<std::int64_t>(field)), 8);
    }
  }

  state_bytes bytes_;
};

/// Reads what `field_writer` wrote, from the bytes of one section.
///
/// Failure: `accrue::error` for a value that its type does not hold, and for bytes that are missing or left.
class field_reader {
 public:
  field_reader(std::string_view section, std::span<unsigned char const> bytes) : section_(section), bytes_(bytes) {}

  template <class... Fields>
  void operator()(Fields&... fields) {
    (take(fields), ...);
  }
  [[nodiscard]] bool at_end() const { return bytes_.empty(); }
  void require_end() const {
    if (!at_end())
      refuse_difference({"section '", section_, "' has ", std::to_string(bytes_.size()),
                         " bytes more than this accumulator keeps there"});
  }

 private:
  template <class T>
  void take(T& field) {
    if constexpr (requires { field.state(*this); }) {
      field.state(*this);
    } else if constexpr (std::is_same_v<T, bool>) {
      field = below(number(1), 2) != 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      field = static_cast<T>(__builtin_bit_cast(double, number(8)));
    } else if constexpr (detail::is_count_v<T>) {
      field = T(below(number(8), std::uint64_t{1} << 63));
    } else if constexpr (std::is_same_v<T, weight>) {
      double value = 0.0;
      (*this)(value);
      field = weight(value);
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      bool there = false;
      double value = 0.0;
      (*this)(there, value);
      if (!there && __builtin_bit_cast(std::uint64_t, value) != 0) refuse_value();
      field = there ? std::optional<double>(value) : std::nullopt;
    } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
      std::uint64_t const size = number(8);
      if (size > bytes_.size() / 8) refuse_value();
      field.resize(static_cast<std::size_t>(size));
      for (std::int64_t& each : field) (*this)(each);
    } else if constexpr (std::is_same_v<T, std::string>) {
      auto const text = next(number(8));
      field.assign(text.begin(), text.end());
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> value{};
      (*this)(value);
      field = static_cast<T>(value);
      if (name_of(field) == "unknown") refuse_value();
    } else {
      auto const value = static_cast<std::int64_t>(number(8));
      if (!std::in_range<T>(value)) refuse_value();
      field = static_cast<T>(value);
    }
  }

  [[nodiscard]] std::uint64_t number(unsigned bytes) { return detail::little(next(bytes).data(), bytes); }
  [[nodiscard]] std::uint64_t below(std::uint64_t value, std::uint64_t limit) const {
    if (value >= limit) refuse_value();
    return value;
  }
  [[nodiscard]] std::span<unsigned char const> next(std::uint64_t bytes) {
    if (bytes > bytes_.size())
      refuse_difference({"section '", section_, "' ends before the values that this accumulator keeps there"});
    auto const found = bytes_.first(static_cast<std::size_t>(bytes));
    bytes_ = bytes_.subspan(found.size());
    return found;
  }
  [[noreturn]] void refuse_value() const {
    refuse_damage({"section '", section_, "' has a value that is none of its type"});
  }

  std::string_view section_;
  std::span<unsigned char const> bytes_;
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_RECIPE_TEXT_HPP
#define ACCRUE_RECIPE_TEXT_HPP

#include <accrue/core/slots.hpp>

#include <algorithm>
#include <charconv>
#include <ios>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace accrue {

namespace detail {
/// Writes real numbers with as many digits as tell them from all others: 0.1, not 0.10000000000000001.
class shortest_numbers : public std::num_put<char> {
 protected:
  using std::num_put<char>::do_put;
  iter_type do_put(iter_type out, std::ios_base&, char, double value) const override {
    char digits[32];
    return std::copy(digits, std::to_chars(digits, digits + sizeof digits, value).ptr, out);
  }
};
}  // namespace detail

/// A policy with the values of all its settings, the same text for the same numbers wherever it is written.
template <class Policy>
[[nodiscard]] std::string policy_text(Policy const& p) {
  std::ostringstream text;
  text.imbue(std::locale(std::locale::classic(), new detail::shortest_numbers));  // which owns it
  print_policy(text, p);
  return text.str();
}

/// What of a policy must be the same in a file: all of it, but for the values of settings that a restart brings back.
template <class Policy>
[[nodiscard]] std::string fixed_policy_text(Policy const& p) {
  if constexpr (restored_policy<Policy>) {
    std::string text(Policy::name);
    p.settings([&]<class Setting>(std::string_view name, Setting const& value) {
      text.append(" ").append(name);
      if constexpr (policy<Setting>) text.append(" ").append(fixed_policy_text(value));
    });
    return text;
  } else {
    return policy_text(p);
  }
}

/// The texts of all policies of a recipe.
template <class Recipe>
[[nodiscard]] std::vector<std::string> policy_texts(Recipe const& policies) {
  std::vector<std::string> all;
  policies.for_each([&](auto const& each) { all.push_back(policy_text(each)); });
  return all;
}
template <class Recipe>
[[nodiscard]] std::vector<std::string> fixed_policy_texts(Recipe const& policies) {
  std::vector<std::string> all;
  policies.for_each([&](auto const& each) { all.push_back(fixed_policy_text(each)); });
  return all;
}

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_SUPPORT_ARGUMENTS_HPP
#define ACCRUE_EXAMPLES_SUPPORT_ARGUMENTS_HPP

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace examples {

/// `--flag` and `--name value`, as a program allows them. Those of Kokkos, `--kokkos-...`, are left to Kokkos.
class arguments {
 public:
  arguments(int argc, char const* const* argv, std::vector<std::string> const& flags,
            std::vector<std::string> const& names) {
    auto const is_one_of = [](std::vector<std::string> const& all, std::string const& word) {
      return std::find(all.begin(), all.end(), word) != all.end();
    };
    for (int i = 1; i < argc; ++i) {
      std::string const word = argv[i];
      if (word.starts_with("--kokkos-")) continue;
      if (is_one_of(flags, word))
        given_[word] = "";
      else if (!is_one_of(names, word))
        throw std::invalid_argument("unknown argument " + word);
      else if (++i == argc)
        throw std::invalid_argument(word + " needs a value");
      else
        given_[word] = argv[i];
    }
  }

  [[nodiscard]] bool has(std::string const& name) const { return given_.contains(name); }

  [[nodiscard]] std::optional<std::string> value(std::string const& name) const {
    auto const found = given_.find(name);
    return found == given_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Failure: `std::invalid_argument` where the value is no number.
  [[nodiscard]] double number(std::string const& name, double otherwise) const {
    auto const text = value(name);
    if (!text) return otherwise;
    std::istringstream in(*text);
    double result = 0;
    if (!(in >> result) || !(in >> std::ws).eof()) throw std::invalid_argument(name + " needs a number, not " + *text);
    return result;
  }

 private:
  std::map<std::string, std::string> given_;
};

}  // namespace examples
#endif

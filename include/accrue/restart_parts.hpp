// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_RESTART_PARTS_HPP
#define ACCRUE_RESTART_PARTS_HPP

#include <accrue/core/state_fields.hpp>
#include <accrue/recipe.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace accrue {

namespace detail {

/// The settings of a recipe that `change_boundary`, `change_loss_scale`, `change_division` and `change_rule` can
/// change.
template <class Recipe>
struct changing_settings {
  Recipe& policies;
  template <class Visit>
  void state(Visit&& visit) {
    change_settings(policies.boundary, visit);
    change_settings(policies.loss_scale, visit);
    change_settings(policies.division, visit);
    change_settings(policies.update, visit);
  }
};

/// Which of how many processes an open group is part of.
struct replica_place {
  int member = 0;
  int members = 1;
  template <class Visit>
  void state(Visit&& visit) {
    visit(member, members);
  }
  [[nodiscard]] std::string text() const {
    return "process " + std::to_string(member) + " of " + std::to_string(members);
  }
  friend bool operator==(replica_place const&, replica_place const&) = default;
};

/// Writes what must be the same, and compares it where it is read.
struct recipe_part {
  std::vector<std::string> mine;
  template <class Visit>
  void state(Visit&& visit) {
    std::size_t count = mine.size();
    visit(count);
    if (count != mine.size())
      refuse_difference({"the recipe in the file has ", std::to_string(count), " policies, the accumulator ",
                         std::to_string(mine.size())});
    for (std::string const& each : mine) {
      std::string theirs = each;
      visit(theirs);
      if (theirs != each)
        refuse_difference({"the recipe in the file says ", printable(theirs), ", that of the accumulator ", each});
    }
  }
};

}  // namespace detail

}  // namespace accrue
#endif

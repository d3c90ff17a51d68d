// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_LEDGER_RUN_SHEET_HPP
#define ACCRUE_LEDGER_RUN_SHEET_HPP

#include <accrue/core/communication.hpp>
#include <accrue/core/memory_report.hpp>
#include <accrue/core/units.hpp>
#include <accrue/ledger/ledger.hpp>
#include <accrue/ledger/run_history.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace accrue {

/// What was planned, as far as it was: the numbers of `plan/`.
struct run_plan {
  std::optional<accrue::samples> microbatch = {};  ///< m
  std::optional<accrue::microbatches> group = {};  ///< A
  std::optional<std::int64_t> replicas = {};       ///< D
  std::optional<std::int64_t> length = {};         ///< positions of a sample
  std::optional<accrue::updates> updates = {};     ///< applied ones
  std::optional<accrue::samples> samples = {};     ///< of the whole run, over all replicas

  /// m * A * D, if they are known. Failure: `accrue::error` where it exceeds 63 bits.
  [[nodiscard]] std::optional<accrue::samples> batch() const {
    if (!microbatch || !group || !replicas) return std::nullopt;
    return *microbatch * group->value() * *replicas;
  }
};

/// A number of a run sheet, or nothing where it is not known.
using sheet_number = std::variant<std::monostate, std::int64_t, double>;

/// Something that was planned and came otherwise.
struct plan_difference {
  std::string what;
  sheet_number planned;
  sheet_number real;
  std::string because;  ///< what the ledger knows of it; may be empty
};

/// What a reader of results needs in order to repeat a run, and to believe it. Made by `make_run_sheet`; `title`,
/// `plan` and `memory` are the user's.
///
/// Guarantee: generated: every number comes from the accumulator, or from what was handed over.
struct run_sheet {
  std::string title;
  run_plan plan;
  memory_report memory;
  std::optional<communication> spent;    ///< where the replicas' transport counts
  std::optional<std::int64_t> replicas;  ///< D; in one process only the user knows

  std::string version;     ///< of accrue
  std::string parameters;  ///< their scalars
  std::string sums;        ///< the scalars that gradients are summed in
  std::vector<std::string> recipe;
  std::string normalization;
  std::string boundary;
  std::string last_group;
  std::optional<std::int64_t> group_size;  ///< A as it is at the end, if the boundary counts microbatches
  bool norm_is_clipped_by_factor = true;   ///< the clip changes the norm by its factor alone

  accrue::ledger ledger;
  group_counts open;  ///< what the open group holds
  run_history history;

  /// The samples of an applied update over all replicas; none where there was no update.
  [[nodiscard]] std::optional<double> real_batch() const {
    if (history.samples().count == 0) return std::nullopt;
    return history.samples().mean();
  }

  /// Everything that was planned and came otherwise.
  [[nodiscard]] std::vector<plan_difference> differences() const {
    std::vector<plan_difference> found;
    group_counts const& n = processed();
    std::int64_t const held = n.microbatches.value();
    if (plan.microbatch && held > 0 && n.samples != *plan.microbatch * held)
      found.push_back({"samples of a microbatch, on average",
                       plan.microbatch->value(),
                       static_cast<double>(n.samples.value()) / static_cast<double>(held),
                       {}});
    if (plan.group && group_size && plan.group->value() != *group_size)
      found.push_back({"microbatches of a group, as the recipe ended", plan.group->value(), *group_size, {}});
    if (plan.replicas && replicas && *plan.replicas != *replicas)
      found.push_back({"replicas", *plan.replicas, *replicas, {}});
    if (plan.group && plan.replicas) {
      std::int64_t const planned = (*plan.group * *plan.replicas).value();
      bounds(found, "microbatches of an update over all replicas", planned, history.microbatches());
    }
    if (auto const batch = plan.batch()) bounds(found, "samples of an update", batch->value(), history.samples());
    if (plan.length && n.positions.value() > 0 && n.positions.value() != (n.samples * *plan.length).value())
      found.push_back({"positions of a sample, on average",
                       *plan.length,
                       static_cast<double>(n.positions.value()) / static_cast<double>(n.samples.value()),
                       {}});
    if (plan.updates && *plan.updates != ledger.applied())
      found.push_back({"updates applied", plan.updates->value(), ledger.applied().value(), why_not_applied()});
    if (plan.samples && *plan.samples != ledger.over_replicas().samples)
      found.push_back({"samples of the run, in closed groups", plan.samples->value(),
                       ledger.over_replicas().samples.value(), why_not_used()});
    return found;
  }

 private:
  [[nodiscard]] group_counts processed() const {
    group_counts all;
    all.microbatches = ledger.microbatches();
    all.samples = ledger.samples();
    all.positions = ledger.positions();
    return all;
  }
  void bounds(std::vector<plan_difference>& found, std::string const& what, std::int64_t planned,
              extremes const& real) const {
    if (real.count == 0) return;
    if (real.least != planned) found.push_back({what + ", fewest", planned, real.least, rejected()});
    if (real.most != planned) found.push_back({what + ", most", planned, real.most, {}});
  }
  [[nodiscard]] std::string rejected() const {
    std::string text;
    list(text, ledger.rejected_microbatches().value(), "microbatches rejected in the run");
    return text;
  }
  static void list(std::string& text, std::int64_t count, char const* what) {
    if (count == 0) return;
    if (!text.empty()) text += ", ";
    text += std::to_string(count) + ' ' + what;
  }
  [[nodiscard]] std::string why_not_applied() const {
    std::string text;
    list(text, ledger.skipped().value(), "skipped as non-finite");
    list(text, ledger.vetoed().value(), "vetoed");
    list(text, ledger.empty_groups(), "groups empty");
    list(text, ledger.dropped_groups(), "groups dropped");
    if (open.microbatches.value() > 0) list(text, 1, "group open");
    return text;
  }
  [[nodiscard]] std::string why_not_used() const {
    std::string text;
    list(text, open.samples.value(), "in the open group of this replica");
    return text;
  }
};

}  // namespace accrue
#endif

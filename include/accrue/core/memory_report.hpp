// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_MEMORY_REPORT_HPP
#define ACCRUE_CORE_MEMORY_REPORT_HPP

#include <accrue/core/memory_peak.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace accrue {

/// What was held at most in one memory space, and when: in bytes.
struct memory_of_space {
  memory_peak whole;
  std::int64_t first_group = 0;   ///< the most during the first group, which often fills caches
  std::int64_t later_groups = 0;  ///< the most during all after it
  friend bool operator==(memory_of_space const&, memory_of_space const&) = default;
};

/// Memory of which more was held at the end of every group than at the end of the one before.
struct suspected_leak {
  struct of_label {
    std::string label;
    std::int64_t bytes = 0;  ///< more than before it grew
    friend bool operator==(of_label const&, of_label const&) = default;
  };
  std::string space;
  std::int64_t groups = 0;                  ///< in a row
  std::int64_t bytes = 0;                   ///< more than before them
  std::vector<of_label> labels;             ///< that grew, the largest first
  static constexpr std::size_t shown = 16;  ///< of them, in print

  [[nodiscard]] double bytes_per_group() const { return static_cast<double>(bytes) / static_cast<double>(groups); }
  friend bool operator==(suspected_leak const& a, suspected_leak const& b) {
    return a.space == b.space && a.groups == b.groups && a.bytes == b.bytes && a.labels == b.labels;
  }

  friend std::ostream& operator<<(std::ostream& out, suspected_leak const& l) {
    out << "suspected leak in " << l.space << ": " << l.bytes_per_group() << " bytes more with each of " << l.groups
        << " groups";
    for (std::size_t i = 0; i < std::min(l.labels.size(), shown); ++i)
      out << "\n  " << l.labels[i].label << ": " << l.labels[i].bytes << " bytes more";
    if (l.labels.size() > shown) out << "\n  and " << l.labels.size() - shown << " more labels";
    return out;
  }
};

/// What a watch has seen.
struct memory_report {
  std::int64_t groups = 0;  ///< that ended
  std::vector<memory_of_space> spaces;
  std::vector<suspected_leak> leaks;
  std::vector<std::vector<memory_peak>> members;  ///< of a transport, in their order, where they were asked

  friend std::ostream& operator<<(std::ostream& out, memory_report const& r) {
    char const* separator = "";
    for (memory_of_space const& each : r.spaces) {
      out << separator << each.whole << "; first group " << each.first_group << ", later groups " << each.later_groups;
      separator = "\n";
    }
    for (suspected_leak const& each : r.leaks) out << separator << each, separator = "\n";
    for (std::size_t m = 0; m < r.members.size(); ++m)
      for (memory_peak const& each : r.members[m]) out << separator << "member " << m << ", " << each, separator = "\n";
    return out;
  }
};

}  // namespace accrue
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_MEMORY_BOOK_HPP
#define ACCRUE_DOCTOR_MEMORY_BOOK_HPP

#include <accrue/core/memory_report.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace accrue {

/// Bytes that are held at the ends of groups: how often in a row they grew, and from where.
class growth {
 public:
  /// Takes in what is held at the end of another group.
  void end_group(std::int64_t held) {
    if (held > last_)
      ++groups_;
    else
      groups_ = 0, before_ = held;
    last_ = held;
  }
  /// The same for the first group, whose growth is none.
  void begin(std::int64_t held) { groups_ = 0, before_ = last_ = held; }

  [[nodiscard]] std::int64_t held() const { return last_; }  ///< at the last end
  [[nodiscard]] std::int64_t groups() const { return groups_; }
  [[nodiscard]] std::int64_t bytes() const { return last_ - before_; }

 private:
  std::int64_t before_ = 0;
  std::int64_t last_ = 0;
  std::int64_t groups_ = 0;
};

/// Counts memory by space and label, in all and by group. Knows nothing of where its entries come from.
///
/// Guarantee: what is freed without having been entered changes nothing; an address that is entered again was freed
/// in the meantime.
class memory_book {
 public:
  /// `suspicious`: so many groups in a row that end with more than the one before are a suspected leak.
  explicit memory_book(std::int64_t suspicious) : suspicious_(suspicious) {}

  void allocate(std::string_view space, std::string_view label, void const* address, std::int64_t bytes) {
    free(address);
    space_count& in_space = spaces_[std::string(space)];
    label_count& of_label = in_space.labels[std::string(label)];
    held_.emplace(address, allocation{&in_space, &of_label, bytes});
    ++of_label.allocations;
    of_label.held += bytes;
    in_space.add(bytes, now_);
  }
  void free(void const* address) {
    auto const found = held_.find(address);
    if (found == held_.end()) return;
    --found->second.label->allocations;
    found->second.label->held -= found->second.bytes;
    found->second.space->add(-found->second.bytes, now_);
    held_.erase(found);
  }

  /// What is held now is there before the first group; groups are counted anew.
  void begin_groups() {
    groups_ = 0;
    now_ = first;
    for (auto& [name, space] : spaces_) space.begin_groups();
  }
  void end_group() {
    now_ = later;
    ++groups_;
    for (auto& [name, space] : spaces_) space.end_group(groups_ == 1);
  }
  [[nodiscard]] std::int64_t groups() const { return groups_; }

  /// Of all spaces of which something was seen, by name.
  [[nodiscard]] std::vector<memory_peak> peaks() const {
    std::vector<memory_peak> all;
    for (auto const& [name, space] : spaces_) all.push_back(space.whole(name));
    return all;
  }
  [[nodiscard]] memory_report report() const {
    memory_report all;
    all.groups = groups_;
    for (auto const& [name, space] : spaces_) {
      all.spaces.push_back({space.whole(name), space.most_in[first], space.most_in[later]});
      suspected_leak leak = space.leak(suspicious_);
      leak.space = name;
      if (!leak.labels.empty()) all.leaks.push_back(std::move(leak));
    }
    return all;
  }

 private:
  enum phase { before, first, later };

  struct label_count {
    std::int64_t allocations = 0;
    std::int64_t held = 0;
    std::int64_t mark = 0;  ///< held when the space began to grow
    growth grows;
  };
  struct space_count {
    std::int64_t held = 0;
    std::int64_t baseline = 0;
    std::int64_t most_in[3] = {0, 0, 0};
    growth grows;
    std::map<std::string, label_count> labels;

    void add(std::int64_t bytes, phase now) {
      held += bytes;
      most_in[now] = std::max(most_in[now], held);
    }
    void begin_groups() {
      most_in[before] = std::max({most_in[before], most_in[first], most_in[later]});
      most_in[later] = 0;
      baseline = most_in[first] = held;
    }
    void end_group(bool is_first) {
      most_in[later] = std::max(most_in[later], held);
      auto const take_in = [&](growth& of, std::int64_t bytes) { is_first ? of.begin(bytes) : of.end_group(bytes); };
      take_in(grows, held);
      for (auto at = labels.begin(); at != labels.end();) {
        label_count& each = at->second;
        take_in(each.grows, each.held);
        if (grows.groups() == 0) each.mark = each.held;
        at = each.allocations == 0 && each.mark == 0 ? labels.erase(at) : std::next(at);
      }
    }
    [[nodiscard]] memory_peak whole(std::string const& name) const {
      return {name, baseline, held, std::max({most_in[before], most_in[first], most_in[later]})};
    }
    /// Of the whole space, or else of single labels under what comes and goes; without labels where there is none.
    [[nodiscard]] suspected_leak leak(std::int64_t suspicious) const {
      suspected_leak found;
      bool const as_a_whole = grows.groups() >= suspicious;
      for (auto const& [label, each] : labels) {
        std::int64_t const more = as_a_whole ? each.grows.held() - each.mark : each.grows.bytes();
        if (more <= 0 || (!as_a_whole && each.grows.groups() < suspicious)) continue;
        found.labels.push_back({label, more});
        found.bytes += as_a_whole ? 0 : more;
        found.groups = std::max(found.groups, each.grows.groups());
      }
      if (as_a_whole) found.groups = grows.groups(), found.bytes = grows.bytes();
      std::stable_sort(found.labels.begin(), found.labels.end(),
                       [](auto const& a, auto const& b) { return a.bytes > b.bytes; });
      return found;
    }
  };
  struct allocation {
    space_count* space;
    label_count* label;
    std::int64_t bytes;
  };

  std::int64_t suspicious_;
  std::int64_t groups_ = 0;
  phase now_ = before;
  std::map<std::string, space_count> spaces_;
  std::unordered_map<void const*, allocation> held_;
};

}  // namespace accrue
#endif

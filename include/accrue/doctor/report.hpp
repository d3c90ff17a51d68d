// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_REPORT_HPP
#define ACCRUE_DOCTOR_REPORT_HPP

#include <accrue/doctor/diagnosis.hpp>

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace accrue::doctor {

/// One mistake, with what was seen of it.
struct finding {
  doctor::diagnosis diagnosis;
  std::string saw;
  bool certain = true;   ///< false where others of the report explain the numbers as well
  std::string equals{};  ///< the formula that all groups follow within rounding, if that is how it was found
};

/// What the doctor found; prints what it saw, why that is a mistake, and the way out.
class report {
 public:
  [[nodiscard]] bool healthy() const { return findings_.empty(); }
  [[nodiscard]] std::vector<finding> const& findings() const { return findings_; }
  /// What could not be judged, and why.
  [[nodiscard]] std::vector<std::string> const& notes() const { return notes_; }

  /// Each once, in the order of the enumeration.
  [[nodiscard]] std::vector<diagnosis> diagnoses() const {
    std::vector<diagnosis> list;
    for (finding const& each : findings_) list.push_back(each.diagnosis);
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }
  [[nodiscard]] bool has(diagnosis d) const {
    return std::any_of(findings_.begin(), findings_.end(), [&](finding const& each) { return each.diagnosis == d; });
  }

  void add(finding found) { findings_.push_back(std::move(found)); }
  void note(std::string text) { notes_.push_back(std::move(text)); }
  void add(report const& other) {
    findings_.insert(findings_.end(), other.findings_.begin(), other.findings_.end());
    notes_.insert(notes_.end(), other.notes_.begin(), other.notes_.end());
  }

  friend std::ostream& operator<<(std::ostream& out, report const& r) {
    out << (r.healthy() ? "healthy" : r.findings_.front().certain ? "found" : "found one of these, which fit alike");
    bool letters = false;
    for (finding const& each : r.findings_) {
      advice const& known = advice_on(each.diagnosis);
      letters = letters || !each.equals.empty();
      out << "\n\n" << each.diagnosis << "\n  saw: " << each.saw << "\n  why: ";
      if (!each.equals.empty()) out << "within rounding every group is the " << each.equals << ".\n       ";
      out << known.why << "\n  way out: " << known.way_out;
    }
    if (letters)
      out << "\n\ng is the mean gradient of a microbatch, c its count, p its positions; N the sum of c, P of p; k the "
             "microbatches\nof a group on one replica, A of a full one; D replicas; S the loss scale.";
    for (std::string const& each : r.notes_) out << "\n\nnote: " << each;
    return out;
  }

 private:
  std::vector<finding> findings_;
  std::vector<std::string> notes_;
};

}  // namespace accrue::doctor
#endif

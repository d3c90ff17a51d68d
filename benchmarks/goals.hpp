// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_BENCHMARKS_GOALS_HPP
#define ACCRUE_BENCHMARKS_GOALS_HPP

#include <benchmark/benchmark.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace bench {

/// Prints as the console does, and remembers the counters of every case by its name.
class remembering : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(std::vector<Run> const& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (Run const& run : runs)
      for (auto const& [counter, value] : run.counters) found_[run.run_name.function_name][counter] = value.value;
  }
  [[nodiscard]] double const* find(std::string const& name, std::string const& counter) const {
    auto const run = found_.find(name);
    if (run == found_.end()) return nullptr;
    auto const value = run->second.find(counter);
    return value == run->second.end() ? nullptr : &value->second;
  }

 private:
  std::map<std::string, std::map<std::string, double>> found_;
};

/// What a case must reach.
struct goal {
  std::string name;
  std::string counter;
  bool at_most;
  double required;
};

inline std::vector<goal> goals() {
  std::vector<goal> all;
  for (char const* s : {"one", "gpt2"}) {
    std::string const shape = s;
    for (char const* a : {"A1", "A4", "A8", "A16"}) {
      all.push_back({"group/float/" + shape + "/" + a + "/lent", "to_floor", true, 1.05});
      all.push_back({"group/float/" + shape + "/" + a + "/copy", "to_floor", true, 1.10});
    }
    all.push_back({"group/bfloat16/" + shape + "/A8/copy", "to_floor", true, 1.12});
    all.push_back({"update_pass/" + shape, "to_seven_streams", true, 1.05});
    all.push_back({"measured_addition/" + shape, "to_plain", true, 1.06});
  }
  for (char const* s : {"2000x4096", "2000x256"})
    all.push_back({std::string("group/float/") + s + "/A8/copy", "to_floor", true, 1.10});
  all.push_back({"measured_addition/2000x256", "ns_per_view", true, 25.0});
  for (char const* s : {"one", "gpt2", "2000x4096", "2000x256"})
    all.push_back({std::string("against_hand/") + s + "/A8", "times_faster", false, 1.15});
  for (char const* s : {"one", "gpt2"})
    all.push_back({std::string("against_hand/") + s + "/A1", "times_faster", false, 1.5});
  all.push_back({"strided_addition", "to_hand", true, 1.5});
  return all;
}

/// Prints every goal beside what was measured. Returns how many were missed.
inline int check_goals(remembering const& found) {
  int missed = 0;
  std::printf("\n%-40s %-18s %10s %10s\n", "case", "figure", "required", "measured");
  for (goal const& g : goals()) {
    double const* const value = found.find(g.name, g.counter);
    bool const met = value != nullptr && (g.at_most ? *value <= g.required : *value >= g.required);
    missed += met ? 0 : 1;
    std::printf("%-40s %-18s %s %7.2f ", g.name.c_str(), g.counter.c_str(), g.at_most ? "<=" : ">=", g.required);
    value == nullptr ? std::printf("%10s\n", "not run") : std::printf("%10.3f%s\n", *value, met ? "" : "  missed");
  }
  return missed;
}

}  // namespace bench
#endif

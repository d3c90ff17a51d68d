// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures every goal and prints it beside what was reached. The measuring is done by other processes, one at a time:
// this one has no threads of its own that would spin beside them, and hands them the processors as it found them.
#include "goals.hpp"
#include "process.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace bench {

namespace {

using json = nlohmann::json;

struct options {
  std::optional<std::string> python;
  std::regex only{""};
  std::string out = "bench.json";
};

options read_options(std::vector<std::string> const& arguments) {
  options given;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string const& option = arguments[i];
    bool const known = option == "--python" || option == "--only" || option == "--out";
    if (!known || i + 1 == arguments.size()) {
      std::cerr << "usage: goals [--python PYTHON] [--only REGEX] [--out FILE]\n"
                   "  --python  one that has torch; without it, rows against PyTorch are not measured\n"
                   "  --only    the sittings to measure, for example one/A8\n"
                   "  --out     where all that was measured is written as JSON\n";
      std::exit(2);
    }
    std::string const& value = arguments[++i];
    if (option == "--python") given.python = value;
    if (option == "--only") given.only = value;
    if (option == "--out") given.out = value;
  }
  return given;
}

template <class T>
void add_once(std::vector<T>& all, T const& one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

/// Everything that was measured so far.
class measured {
 public:
  explicit measured(options const& given) : given_(given) {}

  /// Measures what the goals of one sitting need.
  void sit(std::vector<goal> const& sitting) {
    std::vector<std::string> cases, portable;
    std::vector<std::vector<std::string>> torch;
    for (goal const& g : sitting) {
      add_once(cases, g.name);
      if (g.against == peer::portable) add_once(portable, g.name);
      if (g.against == peer::torch) add_once(torch, g.torch);
    }
    run_cases(ACCRUE_BENCHMARKS_NATIVE, cases, native_);
    if (!portable.empty()) run_cases(ACCRUE_BENCHMARKS_PORTABLE, portable, portable_);
    if (given_.python)
      for (auto const& arguments : torch) run_torch(arguments);
  }

  /// The figure of a goal; nothing if what it needs has failed.
  [[nodiscard]] std::optional<double> figure(goal const& g) const {
    auto const ours = native_.find(g.name);
    if (ours == native_.end()) return std::nullopt;
    if (g.against == peer::none) return number(ours->second, g.figure);
    auto const passes = number(ours->second, "passes");
    auto const theirs = g.against == peer::torch ? find(torch_, g.torch) : find(portable_, g.name);
    if (!passes || !theirs) return std::nullopt;
    return *theirs / *passes;
  }
  [[nodiscard]] bool left_out(goal const& g) const { return g.against == peer::torch && !given_.python; }

  /// As Google Benchmark writes it, and beside it the lines of the peers.
  [[nodiscard]] json record() const {
    json all{{"context", context_}, {"benchmarks", json::array()}, {"portable", json::array()}};
    for (auto const& [name, counters] : native_) all["benchmarks"].push_back(counters);
    for (auto const& [name, counters] : portable_) all["portable"].push_back(counters);
    for (auto const& [arguments, line] : torch_) all["torch"].push_back(line);
    return all;
  }

 private:
  using by_name = std::map<std::string, json>;

  static std::optional<double> number(json const& object, std::string const& key) {
    auto const found = object.find(key);
    if (found == object.end() || !found->is_number()) return std::nullopt;
    return found->get<double>();
  }
  template <class Key>
  static std::optional<double> find(std::map<Key, json> const& all, Key const& key) {
    auto const found = all.find(key);
    return found == all.end() ? std::nullopt : number(found->second, "passes");
  }

  void run_cases(std::string const& program, std::vector<std::string> const& cases, by_name& into) {
    std::string filter;
    for (std::string const& name : cases) filter += (filter.empty() ? "^(" : "|") + name;
    std::string const file = given_.out + ".part";
    ended const done = run({program, "--benchmark_filter=" + filter + ")(/iterations|$)", "--benchmark_out=" + file},
                           writes::to_terminal);
    json const result = json::parse(std::ifstream(file), nullptr, false);
    std::filesystem::remove(file);
    if (!done.well || result.is_discarded()) {
      std::printf("goals: %s failed\n", program.c_str());
      return;
    }
    context_ = result.at("context");
    for (json const& one : result.at("benchmarks")) {
      auto const name = one.at("name").get<std::string>();
      into[name.substr(0, name.find("/iterations:"))] = one;
    }
  }

  void run_torch(std::vector<std::string> const& arguments) {
    std::vector<std::string> command{*given_.python, ACCRUE_BENCHMARKS_PYTORCH};
    command.insert(command.end(), arguments.begin(), arguments.end());
    if (auto const threads = context_.find("threads"); threads != context_.end())
      command.insert(command.end(), {"--threads", threads->get<std::string>()});
    ended const done = run(command, writes::to_us);
    std::string text = done.output;  // warnings, if any, come before the last line
    while (!text.empty() && text.back() == '\n') text.pop_back();
    text = text.substr(text.rfind('\n') + 1);
    json const line = done.well ? json::parse(text, nullptr, false) : json();
    if (!line.is_object()) {
      std::printf("goals: PyTorch failed: %s\n", text.c_str());
      return;
    }
    std::printf("%s\n", text.c_str());
    torch_[arguments] = line;
  }

  options const& given_;
  json context_ = json::object();
  by_name native_, portable_;
  std::map<std::vector<std::string>, json> torch_;
};

/// Prints every goal beside what was measured. Returns how many were missed.
int print(std::vector<goal> const& all, measured const& found, json& record) {
  int missed = 0;
  std::printf("\n%-36s %-18s %10s %10s\n", "case", "figure", "required", "measured");
  for (goal const& g : all) {
    std::printf("%-36s %-18s %s %7.2f ", g.name.c_str(), g.figure.c_str(), g.at_most ? "<=" : ">=", g.required);
    json row{{"name", g.name}, {"figure", g.figure}, {"at_most", g.at_most}, {"required", g.required}};
    auto const value = found.figure(g);
    if (found.left_out(g)) {
      std::printf("not measured\n");
    } else {
      bool const met = value && (g.at_most ? *value <= g.required : *value >= g.required);
      missed += met ? 0 : 1;
      row["met"] = met;
      value ? std::printf("%10.3f%s\n", *value, met ? "" : "  missed") : std::printf("%10s  missed\n", "failed");
      if (value) row["measured"] = *value;
    }
    record.push_back(row);
  }
  return missed;
}

int check(options const& given) {
  std::vector<goal> all;
  std::vector<std::string> sittings;
  for (goal const& g : goals()) {
    if (!std::regex_search(g.sitting, given.only)) continue;
    all.push_back(g);
    add_once(sittings, g.sitting);
  }
  measured found(given);
  for (std::string const& sitting : sittings) {
    std::vector<goal> together;
    std::copy_if(all.begin(), all.end(), std::back_inserter(together),
                 [&](goal const& g) { return g.sitting == sitting; });
    found.sit(together);
  }
  json record = found.record();
  int const missed = print(all, found, record["goals"]);
  std::ofstream(given.out) << record.dump(2) << '\n';
  std::printf("%d of %zu missed; all figures are in %s\n", missed, all.size(), given.out.c_str());
  return missed == 0 ? 0 : 1;
}

}  // namespace

}  // namespace bench

int main(int argc, char* argv[]) try {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // in order with what the other processes print
  return bench::check(bench::read_options({argv + 1, argv + argc}));
} catch (std::exception const& error) {
  std::cerr << "goals: " << error.what() << '\n';
  return 2;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A run sheet says what the ledger and the history say, the same in every form, and names what came otherwise than
// planned.
#include "support/host.hpp"

#include <accrue/accrue.hpp>
#include <accrue/doctor/memory_watch.hpp>
#include <accrue/make_run_sheet.hpp>
#include <accrue/restart.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#define ACCRUE_TEST_HAS_JSON 1
#else
#define ACCRUE_TEST_HAS_JSON 0
#endif

namespace {

using accrue::microbatches;
using accrue::outcome;
using accrue::samples;
using accrue::tokens;
using accrue::updates;
using support::make_view;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

accrue::record group(std::int64_t number, outcome result = outcome::applied, double scale = 1.0) {
  accrue::record r;
  r.number = number;
  r.result = result;
  r.counts.microbatches = microbatches{2};
  r.counts.samples = samples{number};
  r.counts.tokens = tokens{10 * number};
  r.loss = 1.0 / static_cast<double>(number);
  r.norm = static_cast<double>(number);
  r.loss_scale = scale;
  return r;
}

std::vector<std::int64_t> numbers_of(accrue::run_history const& history) {
  std::vector<std::int64_t> numbers;
  for (accrue::run_point const& p : history.points()) numbers.push_back(p.group);
  return numbers;
}

template <class Write>
std::string text_of(Write const& write) {
  std::ostringstream out;
  write(out);
  return out.str();
}
std::string csv_of(accrue::run_sheet const& sheet) {
  return text_of([&](std::ostream& out) { write_csv(out, sheet); });
}
std::string markdown_of(accrue::run_sheet const& sheet, std::size_t rows = 16) {
  return text_of([&](std::ostream& out) { write_markdown(out, sheet, rows); });
}
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> named(std::vector<accrue::plan_difference> const& differences) {
  std::vector<std::string> names;
  names.reserve(differences.size());
  for (accrue::plan_difference const& each : differences) names.push_back(each.what);
  return names;
}

}  // namespace

TEST_CASE("a history keeps every group until it has too many, then every second, fourth, and the last one") {
  accrue::run_history history(4);
  using list = std::vector<std::int64_t>;
  CHECK(numbers_of(history).empty());
  std::vector<list> const expected = {{1},          {1, 2},       {1, 2, 3},       {1, 2, 3, 4}, {1, 3, 5},
                                      {1, 3, 5, 6}, {1, 3, 5, 7}, {1, 3, 5, 7, 8}, {1, 5, 9}};
  for (std::int64_t n = 1; n <= 9; ++n) {
    history.group_recorded(group(n));
    CHECK(numbers_of(history) == expected[static_cast<std::size_t>(n - 1)]);
  }
  CHECK(history.every() == 4);
  for (std::int64_t n = 10; n <= 100000; ++n) {
    history.group_recorded(group(n));
    REQUIRE(history.points().size() <= 5);
  }
  CHECK(history.seen() == 100000);
  list const kept = numbers_of(history);
  CHECK(kept.front() == 1);
  CHECK(kept.back() == 100000);
  for (std::size_t i = 1; i + 1 < kept.size(); ++i) CHECK(kept[i] - kept[i - 1] == history.every());
  CHECK(history.last().samples == std::int64_t{100000} * 100001 / 2);  // of all groups, whether kept or not
  CHECK_THROWS_AS(accrue::run_history(1), accrue::error);
}

TEST_CASE("a history counts what was applied, and sees every change of the loss scale") {
  accrue::run_history history(2);
  history.group_recorded(group(1, outcome::applied, 8.0));
  history.group_recorded(group(2, outcome::skipped_non_finite, 8.0));
  accrue::record clipped = group(3, outcome::applied, 4.0);
  clipped.clip_factor = 0.5;
  clipped.rejected.samples = samples{100};
  history.group_recorded(clipped);
  history.group_recorded(group(4, outcome::dropped_last));  // its scale says nothing
  history.group_recorded(group(5, outcome::vetoed, 2.0));
  history.group_recorded(group(6, outcome::empty));
  CHECK(history.last().applied == 2);
  CHECK(history.last().samples == 1 + 2 + 3 + 100 + 4 + 5 + 6);  // handed over
  CHECK(history.samples().count == 2);
  CHECK(history.samples().least == 1);
  CHECK(history.samples().most == 3);  // learned from
  CHECK(history.samples().mean() == 2.0);
  CHECK(history.tokens().sum == 40);
  CHECK(history.microbatches().least == 2);
  CHECK(history.unused().samples == samples{2 + 5});
  CHECK(history.clipped() == 1);
  CHECK(history.largest_norm() == 3.0);
  REQUIRE(history.scale_changes().size() == 2);
  CHECK(history.scale_changes()[1].group == 3);
  CHECK(history.scale_changes()[1].scale == 4.0);
  CHECK(history.scale_changes_left_out() == 1);
}

TEST_CASE("texts are written as JSON, CSV and Markdown ask for") {
  CHECK(accrue::json_text("a \"b\" \\ \n\x01\x7f") == "\"a \\\"b\\\" \\\\ \\u000a\\u0001\\u007f\"");
  CHECK(accrue::json_text("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80") == "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
  // A lone byte, one that is cut short, an overlong slash, a surrogate, one beyond the last character.
  CHECK(accrue::json_text("\x80") == "\"\\ufffd\"");
  CHECK(accrue::json_text("\xe2\x82") == "\"\\ufffd\\ufffd\"");
  CHECK(accrue::json_text("\xc0\xaf") == "\"\\ufffd\\ufffd\"");
  CHECK(accrue::json_text("\xed\xa0\x80") == "\"\\ufffd\\ufffd\\ufffd\"");
  CHECK(accrue::json_text("\xf4\x90\x80\x80") == "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
  CHECK(accrue::json_value(largest) == "9223372036854775807");
  CHECK(accrue::json_value(undefined) == "null");
  CHECK(accrue::json_value(std::numeric_limits<double>::infinity()) == "null");
  CHECK(accrue::json_value({}) == "null");
  CHECK(accrue::json_value(0.1) == "0.1");
  CHECK(accrue::csv_value(std::string("a")) == "a");
  CHECK(accrue::csv_value(std::string("a,\"b\"\n")) == "\"a,\"\"b\"\"\n\"");
  CHECK(accrue::csv_value({}).empty());
  CHECK(accrue::markdown_value(std::string("a|b\n<c>")) == "a\\|b \\<c\\>");
  CHECK(accrue::markdown_value(1.0 / 3) == "0.333333");
  CHECK(accrue::markdown_value({}) == "not known");
  for (double const number : {0.1, 1.0 / 3, -2.5e-308, 1e300, 5e-324})
    CHECK(std::strtod(accrue::exact_text(number).c_str(), nullptr) == number);
  CHECK(accrue::chosen_rows(5, 16) == std::vector<std::size_t>{0, 1, 2, 3, 4});
  CHECK(accrue::chosen_rows(100, 4) == std::vector<std::size_t>{0, 33, 66, 99});
  CHECK(accrue::chosen_rows(3, 1) == std::vector<std::size_t>{0});
  CHECK(accrue::chosen_rows(0, 4).empty());
}

TEST_CASE("a run sheet is made of what the accumulator knows, and names all that was planned and came otherwise") {
  Kokkos::View<float*> const theta("theta", 1);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::every{2}, accrue::carry_last{},
                            accrue::reject_microbatch{.max_norm = 100.0}, accrue::clip_by_global_norm{.max_norm = 4.0},
                            accrue::constant_scale{.scale = 2.0}, accrue::sgd{.learning_rate = 1.0});
  accrue::run_history history;
  group.observe(std::ref(history));
  auto const feed = [&](float gradient, int many = 5) {
    group.accumulate(accrue::mean_gradient{make_view<float>({gradient})}, samples{many}, tokens{10 * many},
                     accrue::ignored_tokens{many}, accrue::positions{12 * many}, accrue::mean_loss{0.5f});
    if (group.full()) group.update();
  };
  feed(2), feed(2);          // norm 1
  feed(16), feed(16, 3);     // norm 8, clipped to 4
  feed(NAN), feed(1000);     // one rejected for each cause: an empty group
  feed(4), feed(INFINITY);   // one is left
  feed(1), group.discard();  // dropped
  feed(1);
  group.end_of_data();  // carried

  accrue::run_sheet sheet = make_run_sheet(group, history);
  sheet.title = "a | \"title\"";
  sheet.memory.spaces.push_back({{"Host, \"pinned\"", 1, 3, largest}, 2, largest});
  sheet.memory.leaks.push_back({"Host, \"pinned\"", 8, 64, {{"a | cache", 48}, {"another", 16}}});
  sheet.plan = {.microbatch = samples{5},
                .group = microbatches{2},
                .replicas = 1,
                .length = 12,
                .updates = updates{5},
                .samples = samples{50}};

  CHECK(sheet.replicas == 1);
  CHECK(sheet.group_size == 2);
  CHECK(sheet.parameters == "float");
  CHECK(sheet.sums == "float");
  CHECK(sheet.ledger.applied() == updates{3});
  CHECK(sheet.ledger.empty_groups() == 1);
  CHECK(sheet.ledger.dropped().samples == samples{5});
  CHECK(sheet.ledger.rejected().samples == samples{15});
  CHECK(sheet.open.samples == samples{5});
  CHECK(sheet.real_batch() == (10.0 + 8.0 + 5.0) / 3.0);

  using names = std::vector<std::string>;
  auto const differences = sheet.differences();
  CHECK(named(differences) ==
        names{"samples of a microbatch, on average", "microbatches of an update over all replicas, fewest",
              "samples of an update, fewest", "updates applied", "samples of the run, in closed groups"});
  CHECK(std::get<double>(differences[0].real) == 48.0 / 10.0);
  CHECK(std::get<std::int64_t>(differences[1].real) == 1);
  CHECK(differences[1].because == "3 microbatches rejected in the run");
  CHECK(std::get<std::int64_t>(differences[2].planned) == 10);
  CHECK(std::get<std::int64_t>(differences[2].real) == 5);
  CHECK(differences[3].because == "1 groups empty, 1 groups dropped, 1 group open");
  CHECK(std::get<std::int64_t>(differences[4].real) == 43);
  CHECK(differences[4].because == "5 in the open group of this replica");

  std::string const csv = csv_of(sheet);
  CHECK(has(csv, "run,title,\"a | \"\"title\"\"\"\n"));
  CHECK(has(csv, "batch,nominal,10\n"));
  CHECK(has(csv, "batch,last_group,carry_last\n"));
  CHECK(has(csv, "data,ignored_tokens,48\n"));
  CHECK(has(csv, "updates,times_carried,1\n"));
  CHECK(has(csv, "left_out,skipped_samples,0\n"));
  CHECK(has(csv, "left_out,dropped_samples,5\n"));
  CHECK(has(csv, "left_out,open_tokens,50\n"));
  CHECK(has(csv, "left_out,rejected_microbatches,3\n"));
  CHECK(has(csv, "left_out,not_a_number,1\nleft_out,infinite,1\nleft_out,norm_too_large,1\n"));
  CHECK(has(csv, "memory,spaces.0.baseline,1\nmemory,spaces.0.peak,9223372036854775807\nmemory,spaces.0.current,3\n"));
  CHECK(has(csv, "memory,leaks.0.label,a | cache\nmemory,leaks.0.groups,8\nmemory,leaks.0.bytes,64\n"));
  CHECK(has(csv, "history,points.1.norm,8\nhistory,points.1.clipped_norm,4\nhistory,points.1.loss_scale,2\n"));
  CHECK(has(csv, "history,points.2.outcome,empty\n"));
  CHECK(has(csv, "numbers,changes.0.group,1\nnumbers,changes.0.scale,2\n"));

  std::string const markdown = markdown_of(sheet, 2);
  CHECK(has(markdown, "| title | a \\| \"title\" |\n"));
  CHECK(has(markdown, "| 1 | applied | 1 | 10 | 100 | 100 | 0.5 | 1 | 1 | 2 |\n"));
  CHECK_FALSE(has(markdown, "| 2 | applied |"));
  CHECK(has(markdown, "\n2 of 5 rows.\n"));
  CHECK(has(markdown, "| Host, \"pinned\" | 1 | 9223372036854775807 | 3 |\n"));
  CHECK(has(markdown, "| Host, \"pinned\" | a \\| cache | 8 | 64 |\n"));
  CHECK(has(markdown, "No transport that counts."));

  sheet.plan = {};
  CHECK(sheet.differences().empty());
  CHECK(has(markdown_of(sheet), "Nothing was planned."));

#if ACCRUE_TEST_HAS_JSON
  auto const json = nlohmann::json::parse(text_of([&](std::ostream& out) { write_json(out, sheet); }));
  CHECK(json["run"]["title"] == "a | \"title\"");
  CHECK(json["memory"]["spaces"][0]["space"] == "Host, \"pinned\"");
  CHECK(json["memory"]["spaces"][0]["peak"].get<std::int64_t>() == largest);
  CHECK_FALSE(json["memory"]["spaces"][0].contains("member"));
  CHECK(json["memory"]["leaks"][0]["bytes"] == 64);
  CHECK(json["batch"]["nominal"].is_null());
  CHECK(json["batch"]["mean"].get<double>() == 23.0 / 3.0);
  CHECK(json["updates"]["applied"] == 3);
  CHECK(json["history"]["points"].size() == 5);
  CHECK(json["history"]["points"][2]["norm"].is_null());
  CHECK(json["history"]["points"][4]["samples"] == 43);
  CHECK(json["communication"]["spent"].empty());
  CHECK(json["recipe"]["policies"].back()["policy"] == accrue::policy_text(group.policies().update));

  // CSV and JSON hold the same values under the same names.
  std::size_t values = 0;
  for (auto const& [name, section] : json.items()) {
    if (!section.is_object()) continue;
    for (auto const& [key, value] : section.items()) {
      if (value.is_array()) {
        for (auto const& row : value) values += row.size();
      } else {
        ++values;
        if (value.is_number_integer()) {
          std::ostringstream line;
          line << name << ',' << key << ',' << value.get<std::int64_t>() << '\n';
          CHECK(has(csv_of(sheet), line.str()));
        }
      }
    }
  }
  std::string const lines = csv_of(sheet);
  CHECK(values + 1 == static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n')));
#endif
}

TEST_CASE("a run sheet takes the report of a memory watch, and says which member had which peak") {
  accrue::run_sheet sheet;
  CHECK(has(markdown_of(sheet), "Memory was not watched."));
  accrue::memory_watch watch;
  Kokkos::View<double*, Kokkos::HostSpace> const model("model", 100);
  watch.begin_groups();
  { Kokkos::View<double*, Kokkos::HostSpace> const workspace("workspace", 50); }
  sheet.memory = watch.report();
  CHECK(has(csv_of(sheet),
            "memory,spaces.0.space,Host\nmemory,spaces.0.baseline,800\nmemory,spaces.0.peak,1200\n"
            "memory,spaces.0.current,800\n"));
  CHECK(has(markdown_of(sheet), "| space | bytes before the groups | most | at the end |\n"));

  // Of all, this one among them: the others have other spaces.
  sheet.memory.members = {{{"Host", 800, 800, 1200}}, {{"Host", 1, 2, 3}, {"Cuda", 4, 5, 6}}};
  std::string const csv = csv_of(sheet), markdown = markdown_of(sheet);
  CHECK(has(csv, "memory,spaces.0.member,0\nmemory,spaces.0.space,Host\nmemory,spaces.0.baseline,800\n"));
  CHECK(has(csv,
            "memory,spaces.2.member,1\nmemory,spaces.2.space,Cuda\nmemory,spaces.2.baseline,4\n"
            "memory,spaces.2.peak,6\nmemory,spaces.2.current,5\n"));
  CHECK_FALSE(has(csv, "memory,spaces.3"));
  CHECK(has(markdown, "| 0 | Host | 800 | 1200 | 800 |\n| 1 | Host | 1 | 3 | 2 |\n| 1 | Cuda | 4 | 6 | 5 |\n"));
#if ACCRUE_TEST_HAS_JSON
  auto const json = nlohmann::json::parse(text_of([&](std::ostream& out) { write_json(out, sheet); }));
  CHECK(json["memory"]["spaces"].size() == 3);
  CHECK(json["memory"]["spaces"][2]["member"] == 1);
  CHECK(json["memory"]["spaces"][2]["peak"] == 6);
#endif
}

TEST_CASE("what nobody knows stays unknown, and a history after a restart goes on from the totals of the state") {
  Kokkos::View<double*> const theta("theta", 1);
  auto const fresh = [&] {
    return accrue::accumulator(accrue::parameters(theta), accrue::per_sample{}, accrue::at_least{samples{4}},
                               accrue::keep_last{}, accrue::clip_by_value{.max_value = 1.0}, accrue::sgd{});
  };
  auto const feed = [](auto& to) {
    to.accumulate(accrue::mean_gradient{make_view<double>({3})}, samples{4}, tokens{7});
    to.update();
  };
  std::stringstream state;
  {
    auto first = fresh();
    feed(first), feed(first);
    save(first, state);
  }
  auto group = fresh();
  load(group, state);
  accrue::run_history history;
  group.observe(std::ref(history));
  accrue::run_sheet const before = make_run_sheet(group, history);
  CHECK_FALSE(before.real_batch());
  CHECK(has(csv_of(before), "batch,mean,\n"));
  CHECK(has(markdown_of(before), "No group was closed."));

  feed(group);
  accrue::run_sheet const sheet = make_run_sheet(group, history);
  std::string const csv = csv_of(sheet);
  CHECK_FALSE(sheet.group_size);
  CHECK(has(csv, "batch,group,\n"));
  CHECK(has(csv,
            "points.0.group,3\nhistory,points.0.outcome,applied\nhistory,points.0.applied,3\n"
            "history,points.0.samples,12\nhistory,points.0.tokens,21\n"));
  CHECK(has(csv, "history,points.0.norm,3\nhistory,points.0.clipped_norm,\n"));  // elements are bounded one by one
  CHECK(has(csv, "history,points.0.loss,\n"));
  CHECK(has(csv, "numbers,changes_left_out,\n"));
  CHECK_FALSE(has(csv, "numbers,changes.0"));
}

TEST_CASE("a stream that does not take the sheet is an error") {
  accrue::run_sheet const sheet;
  std::ostream nowhere(nullptr);
  CHECK_THROWS_AS(write_json(nowhere, sheet), accrue::error);
  CHECK_THROWS_AS(write_csv(nowhere, sheet), accrue::error);
  CHECK_THROWS_AS(write_markdown(nowhere, sheet), accrue::error);
}

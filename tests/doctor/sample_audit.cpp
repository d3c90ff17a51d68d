// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which samples a group really consisted of.
#include <accrue/doctor/sample_audit.hpp>
#include <accrue/reduce/in_process_replicas.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <vector>

namespace {

using accrue::audit_group;
using accrue::repeated_sample;
using accrue::sample_audit;
using accrue::sample_ids;
using ids = std::vector<std::int64_t>;

accrue::in_process_replicas<> const here;

sample_audit of(std::vector<ids> const& microbatches) {
  sample_audit audit;
  for (ids const& each : microbatches) audit.add(sample_ids(each));
  return audit;
}

}  // namespace

TEST_CASE("P-059 sample_audit: padding duplicates at the end of the data are found") {
  auto a = of({{0, 4, 8}}), b = of({{1, 5, 9}}), c = of({{2, 6, 0}}), d = of({{3, 7, 1}});
  auto const report = audit_group(here, a, b, c, d);
  CHECK(report.processed == 12);
  CHECK(report.unique == 10);
  CHECK(report.repeated_ids == 2);
  CHECK(report.across_replicas == 2);
  CHECK(report.inside_replicas == 0);
  CHECK(!report.all_alike);
  CHECK(report.first == std::vector<repeated_sample>{{0, 2, {0, 2}}, {1, 2, {1, 3}}});
  CHECK(a.ids().empty());  // the next group begins
}

TEST_CASE("P-060 sample_audit: replicas that all read the same data are found") {
  auto a = of({{0, 1, 2, 3}}), b = of({{3, 2}, {1, 0}}), c = of({{0, 1, 2, 3}});
  auto const report = audit_group(here, a, b, c);
  CHECK(report.processed == 12);
  CHECK(report.unique == 4);
  CHECK(report.all_alike);
  CHECK(report.across_replicas == 4);
  for (auto const& each : report.first) CHECK(each.times == 3);
  std::ostringstream text;
  text << report;
  CHECK(text.str().find("12 samples processed, 4 different ones; all replicas saw the same") == 0);
}

TEST_CASE("P-061 sample_audit: one microbatch that is fed again and again is found") {
  auto only = of({{7, 8}, {7, 8}, {7, 8}, {7, 8}});
  auto const report = audit_group(here, only);
  CHECK(report.processed == 8);
  CHECK(report.unique == 2);
  CHECK(report.inside_replicas == 2);
  CHECK(report.across_replicas == 0);
  CHECK(!report.all_alike);
  CHECK(report.first == std::vector<repeated_sample>{{7, 4, {0}}, {8, 4, {0}}});
}

TEST_CASE("sample_audit: data without repetitions, and none at all, are clean") {
  auto a = of({{5, -3}, {9}}), b = of({});
  CHECK(audit_group(here, a, b).clean());
  auto const report = audit_group(here, a, b);
  CHECK(report.clean());
  CHECK(report.processed == 0);
  CHECK(!report.all_alike);
  std::ostringstream text;
  text << report;
  CHECK(text.str() == "0 samples processed, 0 different ones");
}

TEST_CASE("sample_audit: random ids on random replicas are counted as a map counts them") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<sample_audit> audits(3);
    std::map<std::int64_t, std::map<int, int>> seen;
    std::int64_t processed = 0;
    for (int m = 0; m < 9; ++m) {
      ids list(random() % 20);
      for (auto& id : list) id = static_cast<std::int64_t>(random() % 60) - 30;
      audits[static_cast<std::size_t>(m % 3)].add(sample_ids(list));
      for (auto const id : list) ++seen[id][m % 3], ++processed;
    }
    auto const report = audit_group(here, audits[0], audits[1], audits[2]);
    std::int64_t repeated = 0, inside = 0, across = 0;
    for (auto const& [id, replicas] : seen) {
      bool const twice =
          std::any_of(replicas.begin(), replicas.end(), [](auto const& each) { return each.second > 1; });
      repeated += replicas.size() > 1 || twice ? 1 : 0, inside += twice ? 1 : 0, across += replicas.size() > 1 ? 1 : 0;
    }
    CHECK(report.processed == processed);
    CHECK(report.unique == static_cast<std::int64_t>(seen.size()));
    CHECK(report.repeated_ids == repeated);
    CHECK(report.inside_replicas == inside);
    CHECK(report.across_replicas == across);
    CHECK(report.first.size() == std::min<std::size_t>(16, static_cast<std::size_t>(repeated)));
  }
}

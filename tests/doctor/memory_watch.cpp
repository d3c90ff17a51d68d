// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes by memory space, group by group.
#include <accrue/accrue.hpp>
#include <accrue/doctor/memory_watch.hpp>
#include <accrue/ledger/write_run_sheet.hpp>
#include <accrue/reduce/in_process_replicas.hpp>

#include "support/host.hpp"

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using accrue::memory_book;
using accrue::memory_peak;
using accrue::memory_report;
using accrue::memory_watch;
using accrue::suspected_leak;
namespace tools = Kokkos::Tools::Experimental;
using host_words = Kokkos::View<double*, Kokkos::HostSpace>;

/// A view of so many times 8 bytes, to which Kokkos rounds up.
host_words words(std::size_t count, std::string const& label = "words") { return host_words(label, count); }
std::string const host = Kokkos::HostSpace::name();

memory_peak of_host(memory_watch const& watch) {
  for (memory_peak const& each : watch.peaks())
    if (each.space == host) return each;
  return {host, 0, 0, 0};
}

/// A tool that was there before.
std::vector<std::string> heard;
void hear_allocation(Kokkos::Tools::SpaceHandle, char const* label, void const*, std::uint64_t size) {
  heard.push_back("+" + std::string(label) + " " + std::to_string(size));
}
void hear_free(Kokkos::Tools::SpaceHandle, char const* label, void const*, std::uint64_t size) {
  heard.push_back("-" + std::string(label) + " " + std::to_string(size));
}
void hear_another(Kokkos::Tools::SpaceHandle, char const*, void const*, std::uint64_t) {
  heard.emplace_back("another");
}

struct other_tool {
  tools::EventSet before = tools::get_callbacks();
  other_tool() {
    heard.clear();
    tools::set_allocate_data_callback(hear_allocation);
    tools::set_deallocate_data_callback(hear_free);
  }
  ~other_tool() { tools::set_callbacks(before); }
};

/// Ends groups that hold so many bytes of each label.
memory_report after(std::vector<std::vector<std::pair<std::string, std::int64_t>>> const& groups,
                    std::int64_t suspicious = 3) {
  memory_book book(suspicious);
  book.begin_groups();
  for (auto const& held : groups) {
    char address[16];
    std::size_t n = 0;
    for (auto const& [label, size] : held) book.allocate("Host", label, &address[n++], size);
    book.end_group();
    for (std::size_t each = 0; each < n; ++each) book.free(&address[each]);
  }
  return book.report();
}

}  // namespace

TEST_CASE("memory_watch: baseline, first group, later groups and peak are those of the views that lived then") {
  memory_watch watch;
  auto const model = words(100);
  watch.begin_groups();
  { auto const workspace = words(50); }
  auto const cache = words(7);
  watch.end_group();
  { auto const workspace = words(30); }
  watch.end_group();
  CHECK(of_host(watch) == memory_peak{host, 800, 856, 1200});
  memory_report const report = watch.report();
  CHECK(report.groups == 2);
  for (accrue::memory_of_space const& each : report.spaces) {
    if (each.whole.space != host) continue;
    CHECK(each.first_group == 1200);
    CHECK(each.later_groups == 1096);
  }
  CHECK(report.leaks.empty());
}

TEST_CASE("memory_watch: what was allocated before it began is neither counted nor missed when it goes") {
  std::optional<host_words> old = words(1000);
  memory_watch watch;
  auto const young = words(10);
  old.reset();
  CHECK(of_host(watch) == memory_peak{host, 0, 80, 80});
}

TEST_CASE("memory_watch: watches overlap in any order, and each counts what lived in its own time") {
  std::optional<memory_watch> first(std::in_place), second;
  auto const a = words(100);
  second.emplace();
  auto const b = words(10);
  CHECK(of_host(*first).peak == 880);
  CHECK(of_host(*second).peak == 80);
  first.reset();
  auto const c = words(1);
  CHECK(of_host(*second).peak == 88);
}

TEST_CASE("memory_watch: a tool that was there hears every event in its order, and is alone again afterwards") {
  other_tool const tool;
  auto const outside = [] { auto const view = words(1, "before"); };
  outside();
  {
    memory_watch const watch;
    auto const a = words(2, "a");
    {
      memory_watch const inner;
      auto const b = words(3, "b");
      CHECK(of_host(watch).peak == 40);
      CHECK(of_host(inner).peak == 24);
    }
    CHECK((tools::get_callbacks().allocate_data != hear_allocation));
  }
  CHECK((tools::get_callbacks().allocate_data == hear_allocation));
  CHECK((tools::get_callbacks().deallocate_data == hear_free));
  outside();
  CHECK(heard == std::vector<std::string>{"+before 8", "-before 8", "+a 16", "+b 24", "-b 24", "-a 16", "+before 8",
                                          "-before 8"});
}

TEST_CASE("memory_watch: where no watch lives the callbacks are those that were there") {
  auto const before = tools::get_callbacks();
  {
    memory_watch const watch;
    CHECK((tools::get_callbacks().allocate_data != before.allocate_data));
  }
  CHECK((tools::get_callbacks().allocate_data == before.allocate_data));
  CHECK((tools::get_callbacks().deallocate_data == before.deallocate_data));
}

TEST_CASE("memory_watch: callbacks set over those of a watch stay, and the next watch refuses to guess") {
  auto const mine = tools::get_callbacks();
  {
    std::optional<memory_watch> watch(std::in_place);
    tools::set_allocate_data_callback(hear_another);
    watch.reset();
    CHECK((tools::get_callbacks().allocate_data == hear_another));
  }
  CHECK_THROWS_WITH_AS(memory_watch(), doctest::Contains("set over those of a watch"), accrue::error);
  CHECK((tools::get_callbacks().allocate_data == hear_another));
  tools::set_callbacks(mine);
  memory_watch const watch;
  auto const view = words(5);
  CHECK(of_host(watch).peak == 40);
}

TEST_CASE("memory_watch: allocations of many threads are all counted") {
  memory_watch const watch;
  {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([] {
        for (int i = 0; i < 200; ++i)
          Kokkos::kokkos_free<Kokkos::HostSpace>(Kokkos::kokkos_malloc<Kokkos::HostSpace>(8));
      });
    for (std::thread& each : threads) each.join();
  }
  CHECK(of_host(watch).current == 0);
  CHECK(of_host(watch).peak >= 8);
  CHECK(of_host(watch).peak <= 4 * 8);
}

TEST_CASE("memory_watch: the accumulator says where groups end, and all that it holds is there before the first") {
  memory_watch watch;
  Kokkos::View<float*, Kokkos::HostSpace> const theta("theta", 100), gradient("gradient", 100);
  accrue::accumulator group(Kokkos::DefaultHostExecutionSpace{}, accrue::parameters(theta), accrue::per_sample{},
                            accrue::every{2}, accrue::sgd{});
  watch.groups_of(group);
  std::vector<host_words> forgotten;
  for (int microbatch = 0; microbatch < 2 * 12; ++microbatch) {
    forgotten.push_back(words(3, "forgotten"));
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
    if (group.full()) group.update();
  }
  memory_report const report = watch.report();
  CHECK(report.groups == 12);
  CHECK(of_host(watch).baseline > 3 * 400);
  CHECK(of_host(watch).current == of_host(watch).baseline + 24 * 24);
  REQUIRE(report.leaks.size() == 1);
  CHECK(report.leaks[0] == suspected_leak{host, 11, 11 * 48, {{"forgotten", 11 * 48}}});
  CHECK(report.leaks[0].bytes_per_group() == 48.0);
  std::ostringstream text;
  text << report.leaks[0];
  CHECK(text.str() ==
        "suspected leak in " + host + ": 48 bytes more with each of 11 groups\n  forgotten: 528 bytes more");
}

TEST_CASE("memory_book: a cache that grows in a few groups, and memory that comes and goes, are no leak") {
  CHECK(after({{{"cache", 1}}, {{"cache", 9}}, {{"cache", 9}}, {{"cache", 9}}, {{"cache", 9}}}).leaks.empty());
  CHECK(after({{{"cache", 1}}, {{"cache", 2}}, {{"cache", 3}}, {{"cache", 3}}, {{"cache", 4}}}).leaks.empty());
  CHECK(after({{{"a", 1}}, {{"a", 2}}, {{"a", 3}}, {{"a", 1}}, {{"a", 2}}, {{"a", 3}}}).leaks.empty());
  CHECK(after({{{"first", 100}}, {{"a", 1}}, {{"a", 2}}, {{"a", 2}}}).leaks.empty());
}

TEST_CASE("memory_book: growth is found by label where other memory falls, and as a whole where labels differ") {
  auto const by_label =
      after({{{"a", 1}, {"b", 9}}, {{"a", 2}, {"b", 5}}, {{"a", 3}, {"b", 9}}, {{"a", 4}, {"b", 1}}}).leaks;
  REQUIRE(by_label.size() == 1);
  CHECK(by_label[0] == suspected_leak{"Host", 3, 3, {{"a", 3}}});

  auto const whole =
      after(
          {{{"0", 1}}, {{"0", 1}, {"1", 2}}, {{"0", 1}, {"1", 2}, {"2", 3}}, {{"0", 1}, {"1", 2}, {"2", 3}, {"3", 4}}})
          .leaks;
  REQUIRE(whole.size() == 1);
  CHECK(whole[0] == suspected_leak{"Host", 3, 9, {{"3", 4}, {"2", 3}, {"1", 2}}});
}

TEST_CASE("memory_book: spaces are apart, an address that comes again was freed unseen, a stranger changes nothing") {
  memory_book book(3);
  char here[3];
  book.allocate("Host", "a", &here[0], 10);
  book.allocate("Cuda", "a", &here[1], 100);
  book.allocate("Host", "b", &here[0], 4);
  book.free(&here[2]);
  CHECK(book.peaks() == std::vector{memory_peak{"Cuda", 0, 100, 100}, memory_peak{"Host", 0, 4, 10}});
  book.free(&here[0]);
  book.free(&here[0]);
  CHECK(book.peaks()[1] == memory_peak{"Host", 0, 0, 10});
}

TEST_CASE("memory_watch: the record has the peaks of every member") {
  /// Two members, of which the other one has a device.
  struct two_members {
    using fills = accrue::slot::replicas;
    static int members() { return 2; }
    static int member() { return 0; }
    static void gather(std::byte const* mine, std::size_t size, std::byte* all) {
      accrue::field_writer other;
      memory_peak host_peak{"Host", 1, 2, 3}, device_peak{"Cuda", 4, 5, 6};
      other(host_peak, device_peak);
      auto theirs = other.bytes();
      if (size == 8) {
        accrue::field_writer count;
        auto how_many = static_cast<std::int64_t>(theirs.size());
        count(how_many);
        theirs = count.bytes();
      }
      std::memcpy(all, mine, size);
      std::memcpy(all + size, theirs.data(), theirs.size());
    }
  };
  memory_watch const watch;
  auto const view = words(5);
  auto const report = accrue::report_of_members(two_members{}, watch);
  REQUIRE(report.members.size() == 2);
  CHECK(report.members[0] == watch.peaks());
  CHECK(report.members[1] == std::vector{memory_peak{"Host", 1, 2, 3}, memory_peak{"Cuda", 4, 5, 6}});
  CHECK(accrue::report_of_members(accrue::in_process_replicas<>{}, watch).members.at(0) == watch.peaks());
  std::ostringstream text;
  text << report;
  CHECK(text.str().ends_with("\nmember 1, Cuda: peak 6 bytes, now 5, 4 before the first group"));
  accrue::run_sheet sheet;
  sheet.memory = report;
  std::ostringstream written;
  write_csv(written, sheet);
  CHECK(written.str().find(
            "member,1\nmemory,spaces.2.space,Cuda\nmemory,spaces.2.baseline,4\nmemory,spaces.2.peak,6\n") !=
        std::string::npos);
}

TEST_CASE("memory_watch: a number of suspicious groups of 0 is refused") {
  auto const before = tools::get_callbacks();
  CHECK_THROWS_WITH_AS(memory_watch(0), doctest::Contains("suspicious is not above 0"), accrue::error);
  CHECK((tools::get_callbacks().allocate_data == before.allocate_data));
}

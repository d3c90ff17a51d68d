// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/accumulator.hpp>
#include <accrue/ledger/csv.hpp>
#include <accrue/ledger/ledger.hpp>
#include <accrue/ledger/record_ring.hpp>
#include <accrue/ledger/update_handle.hpp>
#include <accrue/update/sgd.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <locale>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

template class accrue::record_ring<Kokkos::DefaultExecutionSpace>;
template class accrue::update_handle<Kokkos::DefaultExecutionSpace>;

namespace {

using accrue::outcome;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

static_assert(std::is_same_v<decltype(accrue::ledger().applied()), accrue::updates>);
static_assert(std::is_same_v<decltype(accrue::ledger().microbatches()), accrue::microbatches>);
static_assert(!std::is_convertible_v<accrue::updates, accrue::microbatches>);
static_assert(accrue::attempted(outcome::applied) && accrue::attempted(outcome::skipped_non_finite) &&
              accrue::attempted(outcome::vetoed));
static_assert(!accrue::attempted(outcome::empty) && !accrue::attempted(outcome::dropped_last) &&
              !accrue::attempted(outcome::carried) && !accrue::attempted(outcome::discarded));

/// One parameter of one element, and microbatches that are one number.
struct run {
  Kokkos::View<double*> theta{"theta", 1};
  Kokkos::View<double*> gradient{"gradient", 1};
  decltype(accrue::accumulator(accrue::parameters(theta), accrue::per_token{}, accrue::every{4}, accrue::drop_last{},
                               accrue::sgd{.learning_rate = 1.0})) group{accrue::parameters(theta), accrue::per_token{},
                                                                         accrue::every{4}, accrue::drop_last{},
                                                                         accrue::sgd{.learning_rate = 1.0}};

  template <class... Facts>
  void add(double value, Facts... facts) {
    Kokkos::deep_copy(gradient, value);
    group.accumulate(accrue::mean_gradient{gradient}, facts...);
  }
  auto close_group(double value, int tokens) {
    add(value, accrue::tokens{tokens});
    return group.update();
  }
};

template <class T>
std::string printed(T const& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

template <class Call>
std::string what(Call call) {
  try {
    call();
  } catch (accrue::error const& e) {
    return e.what();
  }
  return "nothing thrown";
}

struct comma_for_a_point : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

}  // namespace

TEST_CASE("ledger: counts move with every microbatch, ignored ones included") {
  run r;
  r.add(2.0, accrue::tokens{512}, accrue::samples{8}, accrue::ignored_tokens{40}, accrue::positions{552});
  r.add(not_a_number, accrue::tokens{0}, accrue::samples{1}, accrue::ignored_tokens{7});
  accrue::ledger const& book = r.group.ledger();
  CHECK(book.microbatches() == accrue::microbatches{2});
  CHECK(book.ignored_microbatches() == accrue::microbatches{1});
  CHECK(book.samples() == accrue::samples{9});
  CHECK(book.tokens() == accrue::tokens{512});
  CHECK(book.ignored_tokens() == accrue::ignored_tokens{47});
  CHECK(book.positions() == accrue::positions{552});
  CHECK(book.groups() == 0);
  CHECK(book.attempted() == accrue::updates{0});
}

TEST_CASE("ledger: attempted is applied and skipped; an empty group is closed and not attempted") {
  run r;
  CHECK(r.close_group(1.0, 10) == outcome::applied);
  CHECK(r.close_group(not_a_number, 10) == outcome::skipped_non_finite);
  CHECK(r.close_group(not_a_number, 10) == outcome::skipped_non_finite);
  CHECK(r.group.ledger().consecutive_skips() == accrue::updates{2});
  CHECK(r.close_group(not_a_number, 0) == outcome::empty);  // ignored
  CHECK(r.group.ledger().consecutive_skips() == accrue::updates{2});
  CHECK(r.group.update() == outcome::empty);  // nothing there: no group closes
  accrue::ledger const& book = r.group.ledger();
  CHECK(book.attempted() == accrue::updates{3});
  CHECK(book.applied() == accrue::updates{1});
  CHECK(book.skipped() == accrue::updates{2});
  CHECK(book.groups() == 4);
  CHECK(book.empty_groups() == 1);
  CHECK(r.close_group(1.0, 10) == outcome::applied);
  CHECK(r.group.ledger().consecutive_skips() == accrue::updates{0});
  CHECK(printed(r.group.ledger()) ==
        "5 microbatches, 0 samples, 40 tokens (0 ignored); updates attempted 4, applied 2, skipped 2; groups closed 5, "
        "empty 1, dropped 0 (0 microbatches)");
}

TEST_CASE("ledger: what was dropped or discarded was processed, and is told apart") {
  run r;
  CHECK(r.close_group(1.0, 10) == outcome::applied);
  r.add(1.0, accrue::tokens{20}, accrue::samples{2});
  r.add(1.0, accrue::tokens{0}, accrue::ignored_tokens{5});
  CHECK(r.group.end_of_data() == outcome::dropped_last);
  r.add(1.0, accrue::tokens{400}, accrue::positions{6});
  r.group.discard();
  r.group.discard();  // nothing left to throw away
  accrue::ledger const& book = r.group.ledger();
  CHECK(book.tokens() == accrue::tokens{430});
  CHECK(book.groups() == 3);
  CHECK(book.dropped_groups() == 2);
  CHECK(book.dropped() == accrue::group_counts{accrue::microbatches{3}, accrue::microbatches{1}, accrue::samples{2},
                                               accrue::tokens{420}, accrue::ignored_tokens{5}, accrue::positions{6}});
  CHECK(book.attempted() == accrue::updates{1});

  auto const records = book.records();
  REQUIRE(records.size() == 3);
  CHECK(records[1].result == outcome::dropped_last);
  CHECK(records[2].result == outcome::discarded);
  CHECK(records[2].counts.positions == accrue::positions{6});
  CHECK(std::isnan(records[1].norm));
}

TEST_CASE("ledger: totals are exact for ever, records are the last 256 groups, oldest first") {
  run r;
  int applied = 0;
  for (int n = 1; n <= 600; ++n) {
    bool const bad = n % 7 == 0;
    applied += bad ? 0 : 1;
    (void)r.close_group(bad ? not_a_number : n, n);
  }
  accrue::ledger const& book = r.group.ledger();
  CHECK(book.groups() == 600);
  CHECK(book.applied() == accrue::updates{applied});
  CHECK(book.skipped() == accrue::updates{600 - applied});
  CHECK(book.tokens() == accrue::tokens{600 * 601 / 2});

  auto const records = book.records();
  REQUIRE(records.size() == 256);
  for (std::size_t i = 0; i < 256; ++i) {
    std::int64_t const n = 345 + static_cast<std::int64_t>(i);
    CHECK(records[i].number == n);
    CHECK(records[i].result == (n % 7 == 0 ? outcome::skipped_non_finite : outcome::applied));
    CHECK(records[i].counts.tokens == accrue::tokens{n});
    CHECK(records[i].weight == static_cast<double>(n));
    if (n % 7 != 0) CHECK(records[i].norm == static_cast<double>(n));
  }
}

TEST_CASE("ledger: records are settled in pieces as well as at once") {
  run often, once;
  for (int n = 1; n <= 300; ++n) {
    (void)often.close_group(n % 5 == 0 ? not_a_number : n, n);
    (void)once.close_group(n % 5 == 0 ? not_a_number : n, n);
    if (n % 11 == 0) (void)often.group.ledger();
  }
  auto const a = often.group.ledger().records(), b = once.group.ledger().records();
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(printed(a[i]) == printed(b[i]));
  CHECK(printed(often.group.ledger()) == printed(once.group.ledger()));
}

TEST_CASE("update_handle: answers as long as its group is among the last 256, then throws") {
  run r;
  auto const first = r.close_group(1.0, 1);
  auto const second = r.close_group(not_a_number, 1);
  auto const nothing = r.group.update();
  for (int n = 3; n <= 256; ++n) (void)r.close_group(1.0, 1);
  CHECK(first == outcome::applied);
  CHECK(second == outcome::skipped_non_finite);
  CHECK(second != outcome::applied);
  CHECK(outcome::skipped_non_finite == second);

  (void)r.close_group(1.0, 1);
  CHECK(what([&] { (void)(first == outcome::applied); }) ==
        "accrue::update_handle: group 1 is no longer among the last 256 records; its outcome was overwritten; ask "
        "earlier, or keep records with an observer");
  CHECK(second.result() == outcome::skipped_non_finite);
  CHECK(nothing == outcome::empty);  // known on the host, so never too old
}

TEST_CASE("update_handle: prints the outcome, whoever knows it") {
  run r;
  CHECK(printed(r.close_group(1.0, 1)) == "applied");
  CHECK(printed(r.close_group(not_a_number, 1)) == "skipped_non_finite");
  CHECK(printed(r.group.update()) == "empty");
}

TEST_CASE("update_handle: outlives its accumulator") {
  auto const handle = [] {
    run r;
    return r.close_group(not_a_number, 1);
  }();
  CHECK(handle == outcome::skipped_non_finite);
}

TEST_CASE("record: the loss is formed as the gradient is, from numbers and from the device alike") {
  run r;
  Kokkos::View<float> const on_device("loss");
  Kokkos::deep_copy(on_device, 4.0f);
  r.add(1.0, accrue::tokens{3}, accrue::mean_loss{2.0});
  r.add(1.0, accrue::tokens{5}, accrue::sum_loss{10.0f});
  CHECK(r.group.update() == outcome::applied);  // (3 * 2 + 10) / 8
  r.add(1.0, accrue::tokens{3}, accrue::mean_loss{2.0});
  r.add(1.0, accrue::tokens{5}, accrue::mean_loss{on_device});
  r.add(1.0, accrue::tokens{0}, accrue::mean_loss{not_a_number});  // ignored, its loss too
  CHECK(r.group.update() == outcome::applied);                     // (3 * 2 + 5 * 4) / 8
  r.add(1.0, accrue::tokens{3}, accrue::mean_loss{2.0});
  r.add(1.0, accrue::tokens{5});
  CHECK(r.group.update() == outcome::applied);  // one did not say
  r.add(1.0, accrue::tokens{4}, accrue::sum_loss{on_device});
  CHECK(r.group.update() == outcome::applied);  // nothing is left of the groups before
  auto const records = r.group.ledger().records();
  REQUIRE(records.size() == 4);
  CHECK(records[0].loss == 2.0);
  CHECK(records[1].loss == 3.25);
  CHECK(records[2].loss == std::nullopt);
  CHECK(records[3].loss == 1.0);
}

TEST_CASE("record: a group that was thrown away with its loss on the device has none") {
  run r;
  Kokkos::View<float> const on_device("loss");
  Kokkos::deep_copy(on_device, 4.0f);
  r.add(1.0, accrue::tokens{2}, accrue::mean_loss{on_device});
  r.group.discard();
  r.add(1.0, accrue::tokens{2}, accrue::mean_loss{4.0});
  r.group.discard();
  CHECK(r.group.ledger().records()[0].loss == std::nullopt);
  CHECK(r.group.ledger().records()[1].loss == 4.0);
}

TEST_CASE("csv: every record is a line, with all digits, whatever the stream's locale") {
  run r;
  r.add(0.1, accrue::tokens{4000}, accrue::samples{8}, accrue::ignored_tokens{40}, accrue::positions{9},
        accrue::mean_loss{0.1});
  r.add(0.1, accrue::tokens{0});
  (void)r.group.update();
  r.add(1.0, accrue::tokens{20});
  (void)r.group.end_of_data();
  std::ostringstream out;
  out.imbue(std::locale(std::locale::classic(), new comma_for_a_point));
  accrue::write_csv(out, r.group.ledger());
  CHECK(out.str() ==
        "group,outcome,microbatches,ignored_microbatches,samples,tokens,ignored_tokens,positions,weight,norm,clip_"
        "factor,loss,loss_scale,rejected_microbatches,term_weights\n"
        "1,applied,2,1,8,4000,40,9,4000,0.10000000000000001,1,0.10000000000000001,1,0,\n"
        "2,dropped_last,1,0,0,20,0,0,20,nan,1,,1,0,\n");
}

TEST_CASE("csv: a stream that takes nothing is an error") {
  run r;
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  CHECK(what([&] {
          accrue::write_csv(out, r.group.ledger());
        }).find("accrue::write_csv: the stream does not take the records; ") == 0);
}

TEST_CASE("record and outcome print in words") {
  run r;
  (void)r.close_group(3.0, 2);
  r.add(1.0, accrue::tokens{1});
  r.group.discard();
  auto const records = r.group.ledger().records();
  CHECK(printed(records[0]) == "group 1: applied, 1 microbatches, weight 2, norm 3, clip factor 1");
  CHECK(printed(records[1]) == "group 2: discarded, 1 microbatches, weight 1");
  CHECK(printed(outcome::skipped_non_finite) == "skipped_non_finite");
  CHECK(printed(static_cast<outcome>(99)) == "unknown");
}

TEST_CASE("ledger: a total that would overflow throws, and nothing is entered") {
  accrue::ledger book;
  accrue::microbatch_facts facts;
  facts.take(accrue::tokens{std::numeric_limits<std::int64_t>::max()});
  book.book_microbatch(book.with(facts, false));
  CHECK_THROWS_AS((void)book.with(facts, false), accrue::error);
  CHECK(book.microbatches() == accrue::microbatches{1});
  CHECK(book.tokens() == facts.tokens);
}

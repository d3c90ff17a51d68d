// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/accumulator.hpp>
#include <accrue/ledger/csv.hpp>
#include <accrue/ledger/observer.hpp>
#include <accrue/update/sgd.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using accrue::outcome;

/// Writes down every moment as a word.
struct diary {
  std::string text;
  void microbatch_accumulated(accrue::group_counts const& held) {
    text += "m" + std::to_string(held.tokens.value()) + ' ';
  }
  void group_closing(accrue::group_counts const& held) { text += "c" + std::to_string(held.tokens.value()) + ' '; }
  void group_recorded(accrue::record const& entry) {
    text += "r" + std::to_string(entry.number) + ':' + std::string(accrue::name_of(entry.result)) + ' ';
  }
  void data_ended(accrue::ledger const& book) { text += "e" + std::to_string(book.applied().value()) + ' '; }
};

struct nothing_to_see {
  void microbatch_accumulated(int*) {}
  void group_recorded() {}
};

static_assert(accrue::observer<diary> && accrue::observer<accrue::csv_writer>);
static_assert(!accrue::observer<int> && !accrue::observer<nothing_to_see>);

template <class Group>
void add(Group& group, double value, int tokens) {
  Kokkos::View<double*> const gradient("gradient", 1);
  Kokkos::deep_copy(gradient, value);
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{tokens});
}

auto make_group() {
  return accrue::accumulator(accrue::parameters(Kokkos::View<double*>("theta", 1)), accrue::per_token{},
                             accrue::keep_last{}, accrue::sgd{.learning_rate = 1.0});
}

}  // namespace

TEST_CASE("observer: is called at its moments, in the order in which they happen") {
  diary seen;
  auto group = make_group();
  group.observe(std::ref(seen));
  add(group, 1.0, 3);
  add(group, 1.0, 4);
  (void)group.update();
  add(group, std::numeric_limits<double>::quiet_NaN(), 5);
  (void)group.update();
  CHECK(seen.text == "m3 m7 c7 m5 c5 ");  // nothing fenced for the records yet
  (void)group.ledger();
  CHECK(seen.text == "m3 m7 c7 m5 c5 r1:applied r2:skipped_non_finite ");
  (void)group.ledger();
  add(group, 1.0, 6);
  group.discard();
  add(group, 1.0, 8);
  seen.text.clear();
  CHECK(group.end_of_data() == outcome::applied);
  CHECK(seen.text == "c8 r3:discarded r4:applied e2 ");
}

TEST_CASE("observer: gets every record once and in order, although only 256 are kept and nobody asks") {
  std::vector<std::int64_t> numbers, skipped;
  struct collector {
    std::vector<std::int64_t>* numbers;
    std::vector<std::int64_t>* skipped;
    void group_recorded(accrue::record const& entry) const {
      numbers->push_back(entry.number);
      if (entry.result == outcome::skipped_non_finite) skipped->push_back(entry.number);
    }
  };
  auto group = make_group();
  group.observe(collector{&numbers, &skipped});
  for (int n = 1; n <= 1000; ++n) {
    add(group, n == 3 || n == 500 ? std::numeric_limits<double>::infinity() : 1.0, 1);
    (void)group.update();
  }
  (void)group.end_of_data();
  (void)group.ledger();
  REQUIRE(numbers.size() == 1000);
  for (std::size_t i = 0; i < 1000; ++i) CHECK(numbers[i] == static_cast<std::int64_t>(i) + 1);
  CHECK(skipped == std::vector<std::int64_t>{3, 500});
}

TEST_CASE("observer: gets the records of groups that were not attempted too, however many") {
  int records = 0;
  auto group = make_group();
  struct counter {
    int* records;
    void group_recorded(accrue::record const&) { ++*records; }
  };
  group.observe(counter{&records});
  for (int n = 0; n < 300; ++n) {
    add(group, 1.0, n % 2);  // every other group is empty
    if (n % 3 == 0)
      group.discard();
    else
      (void)group.update();
  }
  for (int n = 0; n < 300; ++n) {
    add(group, 1.0, 1);
    group.discard();
  }
  (void)group.ledger();
  CHECK(records == 600);
}

TEST_CASE("observer: a csv_writer is the long memory of a run") {
  std::ostringstream out;
  auto group = make_group();
  group.observe(accrue::csv_writer(out));
  for (int n = 1; n <= 300; ++n) {
    add(group, 1.0, n);
    (void)group.update();
  }
  (void)group.ledger();
  std::string const text = out.str();
  CHECK(std::count(text.begin(), text.end(), '\n') == 301);
  CHECK(text.find("group,outcome,") == 0);
  CHECK(text.find("\n1,applied,1,0,0,1,0,0,1,1,1,,1,0,\n") != std::string::npos);
  CHECK(text.find("\n300,applied,1,0,0,300,0,0,300,1,1,,1,0,\n") != std::string::npos);
}

TEST_CASE("observer: one of each moment alone is enough, values and references, several at a time") {
  struct counts_microbatches {
    int* n;
    void microbatch_accumulated(accrue::group_counts const&) { ++*n; }
  };
  struct counts_closings {
    int* n;
    void group_closing(accrue::group_counts const&) { ++*n; }
  };
  struct sees_the_end {
    int n = 0;
    void data_ended(accrue::ledger const& book) { n += static_cast<int>(book.groups()); }
  };
  struct moves_only {
    std::unique_ptr<int> own = std::make_unique<int>(0);
    int* seen;
    void group_recorded(accrue::record const&) { *seen = ++*own; }
  };
  int microbatches = 0, closings = 0, records = 0;
  sees_the_end end;
  auto group = make_group();
  group.observe(counts_microbatches{&microbatches});
  group.observe(counts_closings{&closings});
  group.observe(moves_only{.seen = &records});
  group.observe(std::ref(end));
  for (int n = 0; n < 5; ++n) add(group, 1.0, 1);
  (void)group.update();
  add(group, 1.0, 1);
  (void)group.end_of_data();
  CHECK(microbatches == 6);
  CHECK(closings == 2);
  CHECK(records == 2);
  CHECK(end.n == 2);
}

TEST_CASE("observer: may ask for the ledger when it gets a record, and gets no record again") {
  auto group = make_group();
  struct asks {
    decltype(group)* of;
    std::string* seen;
    void group_recorded(accrue::record const& entry) const {
      *seen += std::to_string(entry.number) + " of " + std::to_string(of->ledger().applied().value()) + ", ";
    }
  };
  std::string seen;
  group.observe(asks{&group, &seen});
  for (int n = 0; n < 2; ++n) {
    add(group, 1.0, 1);
    (void)group.update();
  }
  (void)group.ledger();
  CHECK(seen == "1 of 2, 2 of 2, ");  // all are settled before the first is shown
}

TEST_CASE("observer: one that throws gets no record twice, and the rest with the next settling") {
  struct throws_once {
    std::vector<std::int64_t>* numbers;
    void group_recorded(accrue::record const& entry) const {
      numbers->push_back(entry.number);
      if (entry.number == 2) throw 2;
    }
  };
  std::vector<std::int64_t> numbers;
  auto group = make_group();
  group.observe(throws_once{&numbers});
  for (int n = 0; n < 3; ++n) {
    add(group, 1.0, 1);
    (void)group.update();
  }
  CHECK_THROWS_AS((void)group.ledger(), int);
  CHECK(numbers == std::vector<std::int64_t>{1, 2});
  add(group, 1.0, 1);
  (void)group.update();
  CHECK(group.ledger().applied() == accrue::updates{4});
  CHECK(numbers == std::vector<std::int64_t>{1, 2, 3, 4});
}

TEST_CASE("observer: the end of the data brings the records to one that wants nothing else") {
  std::ostringstream out;
  auto group = make_group();
  group.observe(accrue::csv_writer(out));
  add(group, 1.0, 3);
  (void)group.update();
  add(group, 1.0, 4);
  (void)group.end_of_data();
  CHECK(out.str().find("\n1,applied,1,0,0,3,") != std::string::npos);
  CHECK(out.str().find("\n2,applied,1,0,0,4,") != std::string::npos);
}

TEST_CASE("observer: a group that closes empty, discarded or dropped is recorded, and no update is announced") {
  diary seen;
  auto group = make_group();
  group.observe(std::ref(seen));
  add(group, 1.0, 0);
  CHECK(group.update() == outcome::empty);
  group.accumulate(accrue::mean_gradient{}, accrue::tokens{2});  // weighs, and touches nothing
  CHECK(group.update() == outcome::empty);
  add(group, 1.0, 3);
  group.discard();
  (void)group.ledger();
  CHECK(seen.text == "m0 m2 m3 r1:empty r2:empty r3:discarded ");

  diary at_the_end;
  accrue::accumulator dropping(accrue::parameters(Kokkos::View<double*>("theta", 1)), accrue::per_token{},
                               accrue::every{2}, accrue::drop_last{}, accrue::sgd{});
  dropping.observe(std::ref(at_the_end));
  add(dropping, 1.0, 4);
  CHECK(dropping.end_of_data() == outcome::dropped_last);
  CHECK(at_the_end.text == "m4 r1:dropped_last e0 ");
}

TEST_CASE("observer: goes along when its accumulator is moved") {
  diary seen;
  auto group = make_group();
  group.observe(std::ref(seen));
  add(group, 1.0, 3);
  auto moved = std::move(group);
  add(moved, 1.0, 4);
  (void)moved.update();
  CHECK(seen.text == "m3 m7 c7 ");
}

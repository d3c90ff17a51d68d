// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is counted, and when: P-020, P-022 (without a loss scale), P-023, P-028, P-066.
#include "support/host.hpp"

#include <accrue/accumulator.hpp>
#include <accrue/finalize/last_group.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/update/sgd.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

using accrue::mean_gradient;
using accrue::microbatches;
using accrue::samples;
using accrue::sum_gradient;
using accrue::tokens;
using accrue::updates;
using support::make_view;
using support::taken;

namespace {

auto in_groups_of(int per_group, Kokkos::View<float*> theta) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_token{}, accrue::every{per_group},
                             accrue::keep_last{}, accrue::sgd{.learning_rate = 1.0});
}

/// Linear warm-up to 1 over ten updates.
double warmed_up(updates applied) { return std::min(static_cast<double>(applied.value()) / 10.0, 1.0); }

static_assert(!std::is_invocable_v<decltype(warmed_up), microbatches>, "a schedule cannot be asked by microbatches");

}  // namespace

TEST_CASE("P-020 a schedule goes by updates, not by microbatches") {
  Kokkos::View<float*> theta("theta", 1);
  auto group = in_groups_of(4, theta);
  for (int i = 0; i < 12; ++i) {
    group.accumulate(mean_gradient{make_view<float>({1})}, tokens{1});
    if (!group.full()) continue;
    group.update();
    group.change_rule(accrue::sgd{.learning_rate = warmed_up(group.ledger().applied())});
  }
  CHECK(group.ledger().applied() == updates{3});
  CHECK(group.policies().update.learning_rate == 0.3);  // by microbatches: 1
  CHECK(support::values(theta)[0] == support::about<float>(-1.0 - 0.1 - 0.2));
}

TEST_CASE("P-022 a skipped update does not advance the schedule") {
  Kokkos::View<float*> theta("theta", 1);
  auto group = in_groups_of(1, theta);
  for (int g = 1; g <= 5; ++g) {
    group.accumulate(mean_gradient{make_view<float>({g % 2 == 0 ? support::infinite<float> : 1.0f})}, tokens{1});
    group.update();
  }
  CHECK(group.ledger().attempted() == updates{5});
  CHECK(group.ledger().applied() == updates{3});
  CHECK(group.ledger().skipped() == updates{2});
  CHECK(warmed_up(group.ledger().applied()) == 0.3);  // by attempted updates: 0.5
}

TEST_CASE("P-023 every counter moves at its moment") {
  Kokkos::View<float*> theta("theta", 1);
  auto group = in_groups_of(2, theta);
  using counters = std::tuple<microbatches, updates, updates, samples, tokens>;
  std::vector<counters> seen;
  for (int i = 0; i < 4; ++i) {
    group.accumulate(mean_gradient{make_view<float>({1})}, samples{3}, tokens{5});
    if (group.full()) group.update();
    accrue::ledger const& book = group.ledger();
    seen.emplace_back(book.microbatches(), book.attempted(), book.applied(), book.samples(), book.tokens());
  }
  auto const expected = [](int mb, int attempted, int applied, int examples, int supervised) {
    return counters(mb, attempted, applied, examples, supervised);
  };
  CHECK(seen[0] == expected(1, 0, 0, 3, 5));  // updates by the microbatch: 1, 2, 3, 4
  CHECK(seen[1] == expected(2, 1, 1, 6, 10));
  CHECK(seen[2] == expected(3, 1, 1, 9, 15));
  CHECK(seen[3] == expected(4, 2, 2, 12, 20));
}

TEST_CASE("P-028 the denominator counts supervised tokens, neither slots nor real tokens") {
  Kokkos::View<float*> theta("theta", 1);
  auto group = in_groups_of(2, theta);
  struct padded_batch {
    std::vector<int> lengths;
    int width;
    int prompt;  // tokens of each row that are not supervised
  };
  int real = 0;
  for (padded_batch const& batch : {padded_batch{{10, 4}, 10, 2}, padded_batch{{9, 3}, 9, 2}}) {
    int slots = 0, supervised = 0;
    for (int const length : batch.lengths) {
      slots += batch.width;
      real += length;
      supervised += length - batch.prompt;
    }
    // Each supervised token has gradient 1, so the mean is 1.
    group.accumulate(sum_gradient{make_view<float>({float(supervised)})}, samples{2}, tokens{supervised},
                     accrue::ignored_tokens{slots - supervised}, accrue::positions{slots});
    CHECK(real == (group.held() == microbatches{1} ? 14 : 26));
  }
  group.update();
  CHECK(taken(theta) == std::vector<float>{1});  // over 38 slots: 0.47, over 26 real tokens: 0.69
  accrue::ledger const& book = group.ledger();
  CHECK(book.positions() == accrue::positions{38});
  CHECK(book.tokens() == tokens{18});
  CHECK(book.ignored_tokens() == accrue::ignored_tokens{20});
  CHECK(book.records().back().weight == 18.0);
}

TEST_CASE("P-066 samples beyond 32 bits are exact") {
  Kokkos::View<float*> theta("theta", 1);
  auto const gradient = make_view<float>({1});
  auto group = in_groups_of(1, theta);
  for (int thousand = 0; thousand < 700; ++thousand) {
    group.accumulate(mean_gradient{gradient}, tokens{1}, samples{3072} * 1000);
    group.update();
  }
  CHECK(group.ledger().samples() == samples{2'150'400'000});  // in 32 bits: -2144567296
}

TEST_CASE("P-066 tokens beyond 32 bits are exact, as total and as weight") {
  Kokkos::View<float*> theta("theta", 1);
  auto const gradient = make_view<float>({1});
  auto group = in_groups_of(256, theta);
  for (int i = 0; i < 256; ++i) group.accumulate(mean_gradient{gradient}, tokens{8'388'608});
  group.update();
  CHECK(taken(theta) == std::vector<float>{1});
  CHECK(group.ledger().tokens() == tokens{2'147'483'648});  // in 32 bits: -2147483648
  CHECK(group.ledger().records().back().weight == 2'147'483'648.0);

  auto parts = in_groups_of(4, theta);
  for (auto const part : std::initializer_list<std::int64_t>{4'294'967'296, 4'294'967'295, 1'661'249'667, 1})
    parts.accumulate(mean_gradient{gradient}, tokens{part});
  CHECK(parts.ledger().tokens() == tokens{10'251'184'259});  // in 32 bits: 1661249667
}

TEST_CASE("P-066 a total beyond 63 bits is refused, and nothing has changed") {
  Kokkos::View<float*> theta("theta", 1);
  auto const gradient = make_view<float>({1});
  auto group = in_groups_of(4, theta);
  group.accumulate(mean_gradient{gradient}, tokens{1});
  CHECK_THROWS_AS(group.accumulate(mean_gradient{gradient}, tokens{std::numeric_limits<std::int64_t>::max()}),
                  accrue::error);
  CHECK(group.held() == microbatches{1});
  CHECK(group.ledger().tokens() == tokens{1});
  CHECK(group.ledger().microbatches() == microbatches{1});
  group.update();
  CHECK(taken(theta) == std::vector<float>{1});
}

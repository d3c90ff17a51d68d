// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a group with named terms records, refuses and takes: weights of 0, losses, rows, producers, announced weights.
#include "support/host.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace {

struct lm {
  static constexpr std::string_view name = "lm";
};
struct aux {};
struct value {};

using accrue::early;
using accrue::late;
using accrue::mean_gradient;
using accrue::mean_loss;
using accrue::of;
using accrue::outcome;
using accrue::sum_gradient;
using accrue::sum_loss;
using accrue::term;
using accrue::tokens;
using exec = Kokkos::DefaultExecutionSpace;
using support::make_view;
using support::taken;
using vector = Kokkos::View<float*>;
vector one(float number) { return make_view<float>({number}); }

auto three_terms() {
  return accrue::terms(term<lm>(accrue::per_token{}), term<aux>(accrue::per_microbatch{}, 0.125),
                       term<value>(accrue::per_sample{}, -0.5));
}
template <class... Policies>
auto group_of(vector const& theta, Policies... policies) {
  return accrue::accumulator(accrue::parameters(theta), policies..., accrue::sgd{.learning_rate = 1.0});
}

}  // namespace

TEST_CASE("a term without weight adds nothing and is reported, and spoils nothing, be it NaN") {
  vector const theta("theta", 1);
  auto group = group_of(theta, three_terms());
  auto const nan = one(support::not_a_number<float>);
  group.accumulate(of<lm>(mean_gradient{one(4)}, mean_loss{3.0}), tokens{2});
  group.accumulate(of<value>(mean_gradient{nan}, mean_loss{std::nan("")}), accrue::samples{0});
  REQUIRE(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{4});
  accrue::record const last = group.ledger().records().back();
  CHECK(last.loss == 3.0);
  CHECK(last.counts.ignored_microbatches == accrue::microbatches{1});
  CHECK(std::vector<double>(last.term_weights.begin(), last.term_weights.begin() + 3) == std::vector<double>{2, 0, 0});
  std::ostringstream text, table;
  text << last;
  CHECK(text.str() == "group 1: applied, 2 microbatches, weight 2 + 0 + 0, norm 4, clip factor 1, loss 3");
  accrue::write_csv_row(table, last);
  CHECK(table.str() == "1,applied,2,1,0,2,0,0,2,4,1,3,1,0,2;0;0\n");

  // The first term may be the one without weight; and its sums of the group before are forgotten.
  group.accumulate(of<aux>(mean_gradient{one(8)}));
  group.accumulate(of<lm>(mean_gradient{nan}, tokens{0}), of<aux>(mean_gradient{one(24)}), tokens{5});
  REQUIRE(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{2});  // an eighth of (8 + 24) / 2
  CHECK(group.ledger().records().back().weight == 0.0);
  CHECK(group.ledger().records().back().norm == 2.0);
  CHECK(group.ledger().tokens() == tokens{7});  // the count inside is that of the term, the one outside the ledger's

  group.accumulate(of<lm>(mean_gradient{nan}), of<aux>(mean_gradient{nan}), tokens{0});
  CHECK(group.update() == outcome::empty);
  group.accumulate(of<lm>(mean_gradient{one(1)}), of<aux>(mean_gradient{nan}), tokens{1});
  CHECK(group.update() == outcome::skipped_non_finite);
  CHECK(taken(theta) == std::vector<float>{0});
}

TEST_CASE("the loss is formed as the gradient is, of numbers and of what lies on the device") {
  vector const theta("theta", 1);
  Kokkos::View<double> const on_device("loss");
  Kokkos::deep_copy(on_device, 10.0);
  auto const loss = [&](auto division, auto const& of_value) {
    auto group = group_of(theta, three_terms(), division);
    group.accumulate(of<lm>(sum_gradient{one(1)}, sum_loss{6.0}), of<aux>(mean_gradient{one(1)}, mean_loss{on_device}),
                     tokens{3});
    group.accumulate(of<lm>(mean_gradient{one(1)}, mean_loss{4.0}), of_value, tokens{1}, accrue::samples{5});
    group.update();
    return group.ledger().records().back().loss;
  };
  double const expected = (6.0 + 4.0) / 4 + 0.125 * 10.0 - 0.5 * 2.0;
  early const announced{tokens{4}, accrue::microbatches{1}, accrue::samples{5}};
  CHECK(loss(late{}, of<value>(mean_gradient{one(1)}, mean_loss{2.0})) == expected);
  CHECK(loss(announced, of<value>(mean_gradient{one(1)}, mean_loss{2.0})) == expected);
  CHECK(loss(late{}, of<value>(mean_gradient{one(1)})) == std::nullopt);
}

TEST_CASE("rows, gradients that a producer writes, and a padded last group come in terms as well") {
  Kokkos::View<float**> const theta("theta", 3, 2), filled("gradient", 3, 2), row("row", 1, 2);
  Kokkos::View<int*> const last_row("index", 1);
  Kokkos::deep_copy(filled, 4.0f), Kokkos::deep_copy(row, 8.0f), Kokkos::deep_copy(last_row, 2);
  auto const check = [&](auto division) {
    accrue::accumulator group(accrue::parameters(theta), three_terms(), division, accrue::every{4}, accrue::pad_last{},
                              accrue::sgd{.learning_rate = 1.0});
    group.accumulate(of<lm>(mean_gradient{filled}), of<aux>(mean_gradient{accrue::rows(last_row, row)}), tokens{1});
    group.accumulate(of<lm>(mean_gradient{accrue::rows(last_row, row)}),
                     of<value>(accrue::sum_written_by{[&](exec const& instance, auto const& target) {
                       if (target.beta() == 0.0)
                         Kokkos::deep_copy(instance, target.sums(), static_cast<float>(-8.0 * target.weight()));
                       else
                         Kokkos::parallel_for(Kokkos::RangePolicy<exec>(instance, 0, 0), [](int) {});
                     }}),
                     tokens{3}, accrue::samples{2});
    REQUIRE(group.end_of_data() == outcome::applied);  // of two microbatches instead of four: half
    float const others = 0.5f * (4.0f * 1 / 4);
    return std::pair(taken(theta), std::vector<float>{others, others, others, others, others + 0.5f * (6 + 1),
                                                      others + 0.5f * (6 + 1)});
  };
  auto [found, expected] = check(late{});
  for (float& each : expected) each += 0.5f * (-0.5f * -8.0f / 2);
  CHECK(found == expected);
}

TEST_CASE("under the sum objective the terms are added with their coefficients") {
  vector const theta("theta", 1);
  auto group = group_of(theta, three_terms(), accrue::sum_objective{});
  group.accumulate(of<lm>(sum_gradient{one(3)}), of<aux>(sum_gradient{one(16)}));
  group.accumulate(of<lm>(mean_gradient{one(2)}), of<value>(sum_gradient{one(4)}), tokens{5});
  REQUIRE(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{3 + 10 + 2 - 2});
}

TEST_CASE("a term that weighs other than announced is refused, and a producer that throws gives the group up") {
  vector const theta("theta", 1);
  auto group = group_of(theta, three_terms(), early{tokens{4}, accrue::microbatches{2}, accrue::samples{0}});
  group.accumulate(of<lm>(mean_gradient{one(4)}), of<aux>(mean_gradient{one(8)}), tokens{4});
  CHECK_THROWS_WITH_AS(group.update(), doctest::Contains("the group weighs 1, and 2 was announced (microbatches)"),
                       accrue::error);
  CHECK_THROWS_WITH_AS(group.accumulate(of<aux>(mean_gradient{one(8)}), of<lm>(mean_gradient{one(4)}), tokens{1}),
                       doctest::Contains("would weigh 5, and 4 was announced (tokens)"), accrue::error);
  CHECK(group.held() == accrue::microbatches{1});
  group.accumulate(of<aux>(mean_gradient{one(24)}));
  REQUIRE(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{4 + 2});

  auto other = group_of(theta, three_terms());
  CHECK_THROWS_AS(
      other.accumulate(of<lm>(mean_gradient{one(4)}), of<aux>(accrue::mean_written_by{[](exec const&, auto const&) {
                         throw std::runtime_error("no");
                       }}),
                       tokens{4}),
      std::runtime_error);
  CHECK(other.held() == accrue::microbatches{0});
  CHECK_THROWS_AS(
      other.accumulate(of<lm>(mean_gradient{one(4)}), of<aux>(mean_gradient{make_view<float>({1, 2})}), tokens{4}),
      accrue::error);  // checked before anything is added
  other.accumulate(of<lm>(mean_gradient{one(4)}), tokens{4});
  auto moved = std::move(other);
  REQUIRE(moved.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{4});
}

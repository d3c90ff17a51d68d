// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/core/contribution.hpp>
#include <accrue/core/facts.hpp>
#include <accrue/core/open_group.hpp>
#include <accrue/core/parameters.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using vector_view = Kokkos::View<float*>;
using matrix_view = Kokkos::View<double**>;
using loss_view = Kokkos::View<float>;

}  // namespace

template struct accrue::mean_loss<double>;
template struct accrue::sum_loss<loss_view>;
template class accrue::mean_gradient<vector_view, accrue::no_gradient_t>;
template class accrue::sum_gradient<>;
template struct accrue::parameter_set<std::index_sequence<1, 1>, vector_view, matrix_view>;
template struct accrue::open_group<std::int64_t>;
template struct accrue::open_group<double>;

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();

// ---- facts

static_assert(accrue::counting_fact<accrue::samples> && accrue::counting_fact<accrue::weight>);
static_assert(!accrue::counting_fact<accrue::microbatches> && !accrue::counting_fact<accrue::updates>);
static_assert(accrue::loss_fact<accrue::mean_loss<float>> && accrue::loss_fact<accrue::sum_loss<loss_view>>);
static_assert(accrue::microbatch_fact<accrue::tokens> && accrue::microbatch_fact<accrue::mean_loss<double>>);
static_assert(!accrue::microbatch_fact<int> && !accrue::microbatch_fact<vector_view>);

using mean = accrue::mean_loss<double>;
using sum = accrue::sum_loss<double>;
static_assert(accrue::facts_once<> && accrue::facts_once<accrue::tokens, accrue::samples, mean>);
static_assert(!accrue::facts_once<accrue::tokens, mean, accrue::tokens>);
static_assert(!accrue::facts_once<mean, sum> && !accrue::facts_once<mean, mean>);
static_assert(!accrue::facts_once<accrue::mean_loss<float>, accrue::mean_loss<loss_view>>);
static_assert(accrue::has_fact<accrue::tokens, mean, accrue::tokens> && !accrue::has_fact<accrue::tokens, mean>);
static_assert(accrue::times_given<mean, mean, sum, mean> == 2);

static_assert(std::is_same_v<decltype(accrue::mean_loss{2.5f}), accrue::mean_loss<float>>);
static_assert(!std::is_convertible_v<double, accrue::weight> && !std::is_convertible_v<double, mean>);
static_assert(accrue::weight{3}.value() == 3.0 && accrue::weight{}.value() == 0.0);

template <class... Facts>
constexpr accrue::microbatch_facts facts_of(Facts... fact) {
  accrue::microbatch_facts facts;
  (facts.take(fact), ...);
  return facts;
}
static_assert(!facts_of().declares_nothing && facts_of(accrue::samples{0}).declares_nothing);
static_assert(facts_of(accrue::tokens{0}, accrue::samples{8}).declares_nothing);  // the later one does not undo it
static_assert(facts_of(accrue::samples{8}, accrue::tokens{0}).declares_nothing);
static_assert(!facts_of(accrue::ignored_tokens{0}, accrue::positions{0}).declares_nothing);

// ---- contributions

static_assert(std::is_same_v<decltype(accrue::mean_gradient{vector_view{}, accrue::no_gradient}),
                             accrue::mean_gradient<vector_view, accrue::no_gradient_t>>);
static_assert(std::is_same_v<decltype(accrue::mean_gradient{accrue::mean_gradient{vector_view{}}}),
                             accrue::mean_gradient<vector_view>>);  // a copy, not a wrapper
static_assert(std::is_same_v<decltype(accrue::sum_gradient{}), accrue::sum_gradient<>>);
static_assert(accrue::mean_gradient<>::is_mean && !accrue::sum_gradient<>::is_mean);
static_assert(!std::is_convertible_v<vector_view, accrue::mean_gradient<vector_view>>);
static_assert(accrue::contribution<accrue::sum_gradient<vector_view>> && !accrue::contribution<vector_view>);

using many = std::vector<vector_view>;
using perhaps = std::optional<vector_view>;
using many_perhaps = std::vector<perhaps>;
static_assert(accrue::gradient_item<vector_view> && accrue::gradient_item<many> && accrue::gradient_item<perhaps> &&
              accrue::gradient_item<many_perhaps> && accrue::gradient_item<accrue::no_gradient_t>);
static_assert(!accrue::gradient_item<float*> && !accrue::gradient_item<std::vector<float>> &&
              !accrue::gradient_item<std::optional<int>> && !accrue::gradient_item<std::vector<std::optional<int>>>);
static_assert(std::is_same_v<accrue::gradient_view_t<many>, vector_view>);
static_assert(std::is_same_v<accrue::gradient_view_t<perhaps>, vector_view>);
static_assert(std::is_same_v<accrue::gradient_view_t<many_perhaps>, vector_view>);
static_assert(std::is_void_v<accrue::gradient_view_t<accrue::no_gradient_t>>);

// ---- sets of parameters

using three = accrue::parameter_set<std::index_sequence<2, 0, 1>, vector_view, many, matrix_view>;
static_assert(three::group_count == 3);
static_assert(three::first_item(0) == 0 && three::first_item(1) == 2 && three::first_item(2) == 2);
static_assert(three::group_of(0) == 0 && three::group_of(1) == 0 && three::group_of(2) == 2);
static_assert(accrue::is_parameter_set_v<three> && !accrue::is_parameter_set_v<vector_view>);
static_assert(accrue::view_item<vector_view> && accrue::view_item<many> && !accrue::view_item<perhaps>);

}  // namespace

TEST_CASE("facts: a weight is 0, or a number whose products a float can hold") {
  CHECK_THROWS_AS(accrue::weight{-0.5}, accrue::error);
  CHECK_THROWS_AS(accrue::weight{-1}, accrue::error);
  CHECK_THROWS_AS(accrue::weight{infinity}, accrue::error);
  CHECK_THROWS_AS(accrue::weight{std::nan("")}, accrue::error);
  CHECK_THROWS_AS(accrue::weight{1.1e30}, accrue::error);
  CHECK_THROWS_AS(accrue::weight{0.9e-30}, accrue::error);
  CHECK(accrue::weight{1e30}.value() == 1e30);
  CHECK(accrue::weight{1e-30}.value() == 1e-30);
  CHECK(accrue::weight{-0.0}.value() == 0.0);
  CHECK(accrue::weight{0.1f}.value() == static_cast<double>(0.1f));
}

TEST_CASE("facts: each fact goes to its own place, and what is not given reads 0") {
  auto const facts = facts_of(accrue::positions{4}, accrue::tokens{2}, accrue::weight{0.5}, accrue::samples{1},
                              accrue::ignored_tokens{3}, mean{7.0});
  CHECK(facts.samples.value() == 1);
  CHECK(facts.tokens.value() == 2);
  CHECK(facts.ignored_tokens.value() == 3);
  CHECK(facts.positions.value() == 4);
  CHECK(facts.weight.value() == 0.5);
  CHECK(facts_of().positions.value() == 0);
}

TEST_CASE("facts: counts of a group are exact sums, and tell ignored microbatches apart") {
  accrue::group_counts counts;
  counts.add(facts_of(accrue::samples{1}, accrue::tokens{20}, accrue::ignored_tokens{300}, accrue::positions{4000}),
             false);
  counts.add(facts_of(accrue::samples{5}, accrue::tokens{0}, accrue::ignored_tokens{700}), true);
  CHECK(counts == accrue::group_counts{accrue::microbatches{2}, accrue::microbatches{1}, accrue::samples{6},
                                       accrue::tokens{20}, accrue::ignored_tokens{1000}, accrue::positions{4000}});
  counts.add(facts_of(), false);
  CHECK(counts.microbatches.value() == 3);
  CHECK(counts.ignored_microbatches.value() == 1);

  auto twice = counts;
  twice += counts;
  CHECK(twice == accrue::group_counts{accrue::microbatches{6}, accrue::microbatches{2}, accrue::samples{12},
                                      accrue::tokens{40}, accrue::ignored_tokens{2000}, accrue::positions{8000}});
}

TEST_CASE("open_group: a weight above 63 bits is refused") {
  accrue::open_group<std::int64_t> group;
  group.add({}, most, false);
  CHECK_NOTHROW(accrue::open_group(group).add({}, 0, false));
  CHECK_THROWS_AS(accrue::open_group(group).add({}, 1, false), accrue::error);
  CHECK_NOTHROW(accrue::open_group(group).add({}, 1, true));  // ignored: it weighs nothing
}

TEST_CASE("open_group: a weight that is no finite double any more is refused") {
  accrue::open_group<double> group;
  group.add({}, 1e308, false);
  CHECK_THROWS_AS(accrue::open_group(group).add({}, 1e308, false), accrue::error);
  CHECK_NOTHROW(accrue::open_group(group).add({}, 1e307, false));
}

TEST_CASE("open_group: what is ignored counts as a microbatch, and does not weigh") {
  accrue::open_group<double> group;
  group.add({}, 0.25, false);
  group.add({}, 0.5, true);
  group.add({}, 0.5, false);
  CHECK(group.counts.microbatches.value() == 3);
  CHECK(group.counts.ignored_microbatches.value() == 1);
  CHECK(group.contributed == 2);
  CHECK(group.weight == 0.75);
}

TEST_CASE("open_group: its loss is known only when every microbatch that weighs gave one") {
  accrue::open_group<std::int64_t> group;
  CHECK(!group.has_loss());
  group.add({}, 3, false);
  CHECK(!group.has_loss());
  group.loss.reported = 1;
  CHECK(group.has_loss());
  group.add({}, 0, true);
  CHECK(group.has_loss());
  group.add({}, 3, false);
  CHECK(!group.has_loss());
}

TEST_CASE("parameters: keep their views, one item each, in their order") {
  vector_view const a("a", 3), c("c", 1), d("d", 2);
  matrix_view const b("b", 2, 2);
  auto const set = accrue::parameters(a, b, std::vector{c, d});
  static_assert(std::is_same_v<decltype(set), accrue::parameter_set<std::index_sequence<3>, vector_view, matrix_view,
                                                                    std::vector<vector_view>> const>);
  CHECK(a.use_count() == 2);
  CHECK(std::get<1>(set.items).data() == b.data());

  std::string labels;
  std::apply(
      [&](auto const&... item) { (accrue::for_each_view(item, [&](auto const& v) { labels += v.label(); }), ...); },
      set.items);
  CHECK(labels == "abcd");
}

TEST_CASE("parameter_groups: join sets, and remember where each begins") {
  vector_view const a("a", 3), c("c", 1);
  matrix_view const b("b", 2, 2);
  auto const set = accrue::parameter_groups(accrue::parameters(a, b), accrue::parameters(), accrue::parameters(c));
  static_assert(
      std::is_same_v<decltype(set),
                     accrue::parameter_set<std::index_sequence<2, 0, 1>, vector_view, matrix_view, vector_view> const>);
  CHECK(std::get<2>(set.items).data() == c.data());
  CHECK(accrue::parameter_groups(accrue::parameters(a)).group_count == 1);
}

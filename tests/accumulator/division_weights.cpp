// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What early and running division make of everything else: lent memory, clips, padding; of large and small numbers, and
// of weights that are not the announced ones.
#include "support/host.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using accrue::early;
using accrue::late;
using accrue::mean_gradient;
using accrue::outcome;
using accrue::running;
using accrue::sum_gradient;
using accrue::tokens;
using exec = Kokkos::DefaultExecutionSpace;
using support::make_view;
using support::taken;

using range = Kokkos::RangePolicy<exec>;
template <class Adder>
struct add_to_each {
  Adder add;
  float value;
  KOKKOS_FUNCTION void operator()(int i) const { add(value, i / 2, i % 2); }
};
template <class Adder>
add_to_each(Adder, float) -> add_to_each<Adder>;

using vector = Kokkos::View<float*>;
template <class... Policies>
auto one_number(Kokkos::View<float*> theta, Policies... policies) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_token{}, policies...,
                             accrue::sgd{.learning_rate = 1.0});
}

}  // namespace

TEST_CASE("gradients that are lent, adopted, written through or rows are divided as well") {
  Kokkos::View<float**> const theta("theta", 3, 2);
  auto const filled = [](float value) {
    Kokkos::View<float**> const view("gradient", 3, 2);
    Kokkos::deep_copy(view, value);
    return view;
  };
  auto const mixed = [&](auto division) {
    accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::gather<2>{}, division,
                              accrue::sgd{.learning_rate = 1.0});
    auto const four = [&](auto const& first) {
      first();
      group.accumulate(mean_gradient{filled(2.0f)}, tokens{3});  // held, when the weight grows
      CHECK(group.template snapshot<0>()(2, 1) == (5.0f * 1 + 2.0f * 3) / 4);
      group.accumulate(accrue::mean_written_by{[](exec const& instance, auto const& target) {
                         Kokkos::parallel_for(range(instance, 0, 6), add_to_each{target.adder(), 8.0f});
                       }},
                       tokens{4});
      Kokkos::View<float**> const row("row", 1, 2);
      Kokkos::View<int*> const third("index", 1);
      Kokkos::deep_copy(row, 16.0f), Kokkos::deep_copy(third, 2);
      group.accumulate(mean_gradient{accrue::rows(third, row)}, tokens{8});
      REQUIRE(group.update() == outcome::applied);
      float const others = (5.0f * 1 + 2.0f * 3 + 8.0f * 4) / 16;
      CHECK(taken(theta) == std::vector<float>{others, others, others, others, others + 8, others + 8});
    };
    four([&] {
      auto const [lent] = group.next_gradients();
      Kokkos::deep_copy(lent, 5.0f);
      group.accumulate(mean_gradient{lent}, tokens{1});
    });
    four([&] { group.adopt(mean_gradient{filled(5.0f)}, tokens{1}); });
  };
  mixed(late{});
  mixed(running{});
  mixed(early{tokens{16}});
}

TEST_CASE("a short last group that is padded, and a microbatch that is clipped, are divided as ever") {
  vector const theta("theta", 1);
  auto const padded = [&](auto division) {
    auto group = one_number(theta, accrue::every{4}, accrue::pad_last{}, division);
    group.accumulate(sum_gradient{make_view<float>({8})}, tokens{2}, accrue::sum_loss{3.0});
    group.accumulate(mean_gradient{make_view<float>({4})}, tokens{6}, accrue::mean_loss{4.0});
    REQUIRE(group.end_of_data() == outcome::applied);
    CHECK(taken(theta) == std::vector<float>{2});  // (8 + 24) / (8 * 4 / 2)
    CHECK(group.ledger().records().back().loss == 27.0 / 8.0);
    CHECK(group.ledger().records().back().norm == 2.0);
  };
  padded(late{}), padded(running{}), padded(early{tokens{8}});

  auto const clipped = [&](auto division, auto clip) {
    auto group = one_number(theta, accrue::on_microbatch(clip), division);
    group.accumulate(sum_gradient{make_view<float>({16})}, tokens{2});   // a mean of 8, bounded to 4
    group.accumulate(mean_gradient{make_view<float>({-2})}, tokens{6});  // within the bound
    REQUIRE(group.update() == outcome::applied);
    CHECK(taken(theta) == std::vector<float>{(4.0f * 2 - 2.0f * 6) / 8});
  };
  accrue::clip_by_global_norm const by_norm{.max_norm = 4.0};
  clipped(late{}, by_norm), clipped(running{}, by_norm), clipped(early{tokens{8}}, by_norm);
  clipped(running{}, accrue::clip_by_value{.max_value = 4.0});
}

TEST_CASE("where the sum overflows and the mean does not, late division skips the group, the others apply it") {
  vector const theta("theta", 1);
  auto const gradient = make_view<float>({1e30f});
  auto const result = [&](auto division) {
    auto group = one_number(theta, division);
    group.accumulate(mean_gradient{gradient}, tokens{1000000000});
    group.accumulate(mean_gradient{gradient}, tokens{3000000000});
    return std::pair(group.update() == outcome::applied, taken(theta)[0]);
  };
  CHECK(result(late{}) == std::pair(false, 0.0f));  // 4e39, and a float ends at 3.4e38
  CHECK(result(running{}).first);
  CHECK(result(running{}).second == support::about<float>(1e30));
  CHECK(result(early{tokens{4000000000}}).second == support::about<float>(1e30));
}

TEST_CASE("the smallest number of 16 bits does not vanish beside the largest weight") {
  vector const theta("theta", 1);
  Kokkos::View<accrue::float16*> const tiny("tiny", 1), zero("zero", 1);
  accrue::float16 const smallest = accrue::narrow<accrue::float16>(std::ldexp(1.0f, -24));
  Kokkos::deep_copy(tiny, smallest);
  std::int64_t const most = (std::int64_t{1} << 62);
  auto const result = [&](auto division) {
    auto group = one_number(theta, division);
    group.accumulate(mean_gradient{tiny}, tokens{1});
    group.accumulate(mean_gradient{zero}, tokens{most - 1});
    REQUIRE(group.update() == outcome::applied);
    return taken(theta)[0];
  };
  float const expected = std::ldexp(1.0f, -24 - 62);
  CHECK(result(late{}) == expected);
  CHECK(result(running{}) == expected);
  CHECK(result(early{tokens{most}}) == expected);
}

TEST_CASE("a weight that is not the announced one is refused with both numbers, and the group stays open") {
  vector const theta("theta", 1);
  auto const one = make_view<float>({1});
  auto group = one_number(theta, early{tokens{10}}, accrue::keep_last{}, accrue::every{3});
  auto const refusal = [](auto const& call) {
    try {
      call();
    } catch (accrue::error const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  group.accumulate(mean_gradient{one}, tokens{4});
  CHECK(refusal([&] { group.update(); }).find("weighs 4, and 10 was announced (tokens)") != std::string::npos);
  CHECK(refusal([&] { group.end_of_data(); }).find("weighs 4, and 10 was announced") != std::string::npos);
  CHECK(refusal([&] { group.accumulate(mean_gradient{one}, tokens{7}); }).find("would weigh 11, and 10 was") !=
        std::string::npos);
  CHECK(refusal([&] { group.change_division(early{tokens{4}}); }).find("inside of a group") != std::string::npos);
  CHECK(group.held() == accrue::microbatches{1});
  CHECK(group.ledger().tokens() == tokens{4});

  group.accumulate(mean_gradient{make_view<float>({6})}, tokens{6});
  CHECK(group.measure().norm == support::about<float>(4.0));
  CHECK(group.update() == outcome::applied);
  CHECK(taken(theta)[0] == support::about<float>(4.0));

  group.change_division(early{tokens{2}});
  group.accumulate(mean_gradient{one}, tokens{1});
  CHECK(group.measure().norm == 1.0);  // of what is there, over what is there
  group.discard();                     // gives it up
  group.accumulate(mean_gradient{one}, tokens{2});
  CHECK(group.update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{1});

  group.change_division(early{tokens{0}});
  group.accumulate(mean_gradient{one}, tokens{0});
  CHECK(group.update() == outcome::empty);

  std::ostringstream text;
  text << group.policies();
  CHECK(text.str().find("early{tokens=0}") != std::string::npos);
}

TEST_CASE("announced weights that are real numbers may differ by the rounding of their sum") {
  vector const theta("theta", 1);
  auto const one = make_view<float>({1});
  accrue::accumulator group(accrue::parameters(theta), accrue::weighted{}, early{accrue::weight{0.3}},
                            accrue::sgd{.learning_rate = 1.0});
  for (int i = 0; i < 3; ++i) group.accumulate(mean_gradient{one}, accrue::weight{0.1});  // 0.30000000000000004
  CHECK(group.update() == outcome::applied);
  CHECK_THROWS_AS(group.accumulate(mean_gradient{one}, accrue::weight{0.3001}), accrue::error);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several accumulators are one: the group of all replicas is that of one large batch.
#include <accrue/accrue.hpp>
#include <accrue/drift_watch.hpp>
#include <accrue/replicas.hpp>
#include <accrue/restart.hpp>

#include "support/host.hpp"
#include "support/message.hpp"

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using accrue::in_process_replicas;
using accrue::mean_gradient;
using accrue::outcome;
using accrue::sum_gradient;
using accrue::tokens;
using array = Kokkos::View<double*>;
using support::contains;
using support::message_of;
using support::values;

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

array vector_of(std::vector<double> const& elements) { return support::make_view<double>(elements); }

/// Replicas of one parameter of so many elements, which begin at zero and subtract the whole gradient.
template <class... Policies>
auto make_replicas(std::size_t count, std::size_t elements, std::vector<array>& theta, Policies const&... policies) {
  using made = decltype(accrue::accumulator(accrue::parameters(array()), policies..., in_process_replicas<>{},
                                            accrue::sgd{.learning_rate = 1.0}));
  std::vector<made> all;
  for (std::size_t r = 0; r < count; ++r) {
    theta.emplace_back("theta", elements);
    all.emplace_back(accrue::parameters(theta.back()), policies..., in_process_replicas<>{},
                     accrue::sgd{.learning_rate = 1.0});
  }
  return all;
}

}  // namespace

TEST_CASE("P-052 replicas: unequal token counts weigh as their tokens do") {
  std::vector<array> theta;
  auto replicas = make_replicas(2, 1, theta, accrue::per_token{});
  replicas[0].accumulate(sum_gradient{vector_of({6.0})}, tokens{1});
  replicas[1].accumulate(sum_gradient{vector_of({6.0})}, tokens{3});
  auto const done = accrue::update_replicas(replicas);
  CHECK(done[0] == outcome::applied);
  CHECK(done[1] == outcome::applied);
  CHECK(values(theta[0]) == std::vector{-3.0});
  CHECK(values(theta[1]) == std::vector{-3.0});
  CHECK(replicas[0].ledger().tokens() == tokens{1});
  CHECK(replicas[0].ledger().over_replicas().tokens == tokens{4});
  CHECK(replicas[1].ledger().records().back().weight == 4.0);
}

TEST_CASE("P-053 replicas: the number of replicas is neither missing nor doubled") {
  auto const with = [](auto arrival, double arriving, auto objective, double expected) {
    using policy = in_process_replicas<decltype(arrival)>;
    std::vector<array> theta;
    auto const make = [&] {
      theta.emplace_back("theta", 1);
      return accrue::accumulator(accrue::parameters(theta.back()), accrue::per_token{}, objective, policy{arrival},
                                 accrue::sgd{.learning_rate = 1.0});
    };
    std::deque<decltype(make())> replicas;
    for (int r = 0; r < 4; ++r) {
      replicas.push_back(make());
      replicas.back().accumulate(sum_gradient{vector_of({arriving})}, tokens{2});
    }
    accrue::update_replicas(replicas[0], replicas[1], replicas[2], replicas[3]);
    for (array const& each : theta) CHECK(values(each) == std::vector{-expected});
  };
  with(accrue::local_gradients{}, 4.0, accrue::mean_objective{}, 2.0);
  with(accrue::summed_gradients{}, 16.0, accrue::mean_objective{}, 2.0);
  with(accrue::averaged_gradients{}, 4.0, accrue::mean_objective{}, 2.0);
  with(accrue::local_gradients{}, 4.0, accrue::sum_objective{}, 16.0);
  with(accrue::summed_gradients{}, 16.0, accrue::sum_objective{}, 16.0);
  with(accrue::averaged_gradients{}, 4.0, accrue::sum_objective{}, 16.0);
}

TEST_CASE("P-054 replicas: different numbers of microbatches, and none") {
  std::vector<array> theta;
  auto replicas = make_replicas(2, 1, theta, accrue::per_sample{}, accrue::every{3}, accrue::keep_last{});
  for (double const g : {1.0, 2.0, 3.0}) replicas[0].accumulate(mean_gradient{vector_of({g})}, accrue::samples{1});
  replicas[1].accumulate(mean_gradient{vector_of({10.0})}, accrue::samples{1});
  accrue::end_of_data_of_replicas(replicas);
  CHECK(values(theta[0]) == std::vector{-4.0});
  CHECK(values(theta[1]) == std::vector{-4.0});
  for (double const g : {1.0, 2.0, 3.0}) replicas[0].accumulate(mean_gradient{vector_of({g})}, accrue::samples{1});
  accrue::update_replicas(replicas);
  CHECK(values(theta[0]) == std::vector{-6.0});
  CHECK(values(theta[1]) == std::vector{-6.0});
  CHECK(accrue::update_replicas(replicas)[1] == outcome::empty);
  CHECK(replicas[0].ledger().groups() == 2);
}

TEST_CASE("P-055 replicas: 64 gradients in half precision do not overflow") {
  using halves = Kokkos::View<accrue::float16*>;
  std::vector<Kokkos::View<float*>> theta;
  auto const make = [&] {
    theta.emplace_back("theta", 3);
    return accrue::accumulator(accrue::parameters(theta.back()), accrue::per_sample{}, in_process_replicas<>{},
                               accrue::sgd{.learning_rate = 1.0});
  };
  std::vector<decltype(make())> replicas;
  halves const gradient("gradient", 3);
  Kokkos::deep_copy(gradient, accrue::float16(2000.0f));
  for (int r = 0; r < 64; ++r) {
    replicas.push_back(make());
    replicas.back().accumulate(mean_gradient{gradient}, accrue::samples{1});
  }
  accrue::update_replicas(replicas);
  for (auto const& each : theta) CHECK(values(each) == std::vector<float>(3, -2000.0f));
}

TEST_CASE("P-038 replicas: Inf on one replica skips on all, and the scale moves on all alike") {
  std::vector<array> theta;
  accrue::dynamic_scale const scaling{.initial = 1024.0f, .backoff = 0.5f};
  auto replicas = make_replicas(2, 1, theta, accrue::per_sample{}, scaling);
  replicas[0].accumulate(mean_gradient{vector_of({1024.0})}, accrue::samples{1});
  replicas[1].accumulate(mean_gradient{vector_of({infinite})}, accrue::samples{1});
  auto const done = accrue::update_replicas(replicas);
  for (std::size_t r = 0; r < 2; ++r) {
    CHECK(done[r] == outcome::skipped_non_finite);
    CHECK(values(theta[r]) == std::vector{0.0});
    CHECK(replicas[r].loss_scale().value() == 512.0f);
  }
  replicas[0].accumulate(mean_gradient{vector_of({512.0})}, accrue::samples{1});
  replicas[1].accumulate(mean_gradient{vector_of({3.0 * 512.0})}, accrue::samples{1});
  accrue::update_replicas(replicas);
  CHECK(values(theta[0]) == std::vector{-2.0});
  CHECK(values(theta[1]) == std::vector{-2.0});
}

TEST_CASE("P-049 replicas: what all of them hold counts once in the norm") {
  std::vector<array> theta;
  auto replicas = make_replicas(2, 2, theta, accrue::per_sample{}, accrue::clip_by_global_norm{.max_norm = 10.0});
  for (auto& each : replicas) each.accumulate(mean_gradient{vector_of({3.0, 4.0})}, accrue::samples{1});
  accrue::update_replicas(replicas);
  for (auto& each : replicas) CHECK(each.ledger().records().back().norm == 5.0);
  CHECK(values(theta[1]) == std::vector{-3.0, -4.0});
}

TEST_CASE("P-057 replicas: a NaN on one is not lost in a maximum") {
  std::vector<std::vector<double>> const orders{{1, undefined, 3}, {1, 3, undefined}, {undefined, 1, 3},
                                                {undefined, 3, 1}, {3, 1, undefined}, {3, undefined, 1}};
  for (auto const& order : orders) {
    std::vector<array> theta;
    auto replicas = make_replicas(3, 1, theta, accrue::per_sample{},
                                  accrue::clip_by_global_norm{.max_norm = 2.0, .order = infinite});
    for (std::size_t r = 0; r < 3; ++r)
      replicas[r].accumulate(mean_gradient{vector_of({order[r]})}, accrue::samples{1});
    auto const done = accrue::update_replicas(replicas);
    for (std::size_t r = 0; r < 3; ++r) {
      CHECK(done[r] == outcome::skipped_non_finite);
      CHECK(std::isnan(replicas[r].ledger().records().back().norm));
    }
  }
}

TEST_CASE("P-021 replicas: they do not multiply the schedule") {
  std::vector<array> theta;
  auto replicas = make_replicas(8, 1, theta, accrue::per_sample{}, accrue::every{2});
  for (auto& each : replicas)
    for (int m = 0; m < 2; ++m) each.accumulate(mean_gradient{vector_of({1.0})}, accrue::samples{1});
  accrue::update_replicas(replicas);
  for (auto& each : replicas) {
    CHECK(each.ledger().applied() == accrue::updates{1});
    CHECK(static_cast<double>(each.ledger().applied().value()) / 10.0 == 0.1);
  }
}

TEST_CASE("replicas: a schedule of tokens goes by those of all, and who counts others is named") {
  std::vector<array> const theta{array("theta", 1), array("theta", 1)};
  auto const make = [&](std::size_t r) {
    return accrue::accumulator(
        accrue::parameters(theta[r]), accrue::per_token{}, in_process_replicas<>{},
        accrue::scheduled(accrue::sgd{.learning_rate = 1.0}, accrue::schedule::linear(tokens{40}, 1.0, 0.0)));
  };
  std::vector<decltype(make(0))> replicas;
  replicas.push_back(make(0)), replicas.push_back(make(1));
  auto const feed = [&] {
    replicas[0].accumulate(mean_gradient{vector_of({1.0})}, tokens{3});
    replicas[1].accumulate(mean_gradient{vector_of({1.0})}, tokens{7});
  };
  for (int update = 0; update < 2; ++update) {
    feed();
    accrue::update_replicas(replicas);
  }
  for (array const& each : theta) CHECK(values(each)[0] == -1.75);  // 1 and 30/40, by its own tokens 37/40 and 33/40

  replicas[1].accumulate(mean_gradient{vector_of({1.0})}, tokens{7});
  replicas[1].discard();  // the other one does not know of these
  feed();
  std::string const message = message_of([&] { accrue::update_replicas(replicas); });
  CHECK(message.find("replica 1 counts 0 samples and 27 tokens") != std::string::npos);
  for (array const& each : theta) CHECK(values(each)[0] == -1.75);
  for (auto const& each : replicas) CHECK(each.held() == accrue::microbatches{1});
}

TEST_CASE("replicas: a schedule of updates does not ask what one of them discarded") {
  std::vector<array> const theta{array("theta", 1), array("theta", 1)};
  auto const make = [&](std::size_t r) {
    return accrue::accumulator(
        accrue::parameters(theta[r]), accrue::per_token{}, in_process_replicas<>{},
        accrue::scheduled(accrue::sgd{.learning_rate = 1.0}, accrue::schedule::linear(accrue::updates{4}, 1.0, 0.0)));
  };
  std::vector<decltype(make(0))> replicas;
  replicas.push_back(make(0)), replicas.push_back(make(1));
  replicas[1].accumulate(mean_gradient{vector_of({1.0})}, tokens{7});
  replicas[1].discard();
  for (int update = 0; update < 2; ++update) {
    for (auto& each : replicas) each.accumulate(mean_gradient{vector_of({1.0})}, tokens{7});
    accrue::update_replicas(replicas);
  }
  for (array const& each : theta) CHECK(values(each)[0] == -1.75);  // 1 and 3/4
}

TEST_CASE("replicas: a parameter that some of them touch, or none, is what the touching ones say") {
  std::vector<array> a, b;
  auto const make = [&] {
    a.emplace_back("a", 1), b.emplace_back("b", 1);
    return accrue::accumulator(accrue::parameters(a.back(), b.back()), accrue::per_sample{}, in_process_replicas<>{},
                               accrue::momentum{.learning_rate = 1.0});
  };
  std::vector<decltype(make())> replicas;
  for (int r = 0; r < 3; ++r) replicas.push_back(make());
  replicas[0].accumulate(mean_gradient{vector_of({3.0}), accrue::no_gradient}, accrue::samples{1});
  replicas[1].accumulate(mean_gradient{accrue::no_gradient, vector_of({9.0})}, accrue::samples{1});
  replicas[2].accumulate(mean_gradient{accrue::no_gradient, accrue::no_gradient}, accrue::samples{1});
  accrue::update_replicas(replicas);
  for (int round = 0; round < 2; ++round) {  // what lay in a buffer before is not in the next group
    for (std::size_t r = 0; r < 3; ++r) {
      CHECK(values(a[r]) == std::vector{-1.0});
      CHECK(values(b[r]) == std::vector{-3.0});
    }
    for (auto& each : replicas)
      each.accumulate(mean_gradient{accrue::no_gradient, accrue::no_gradient}, accrue::samples{1});
    CHECK(accrue::update_replicas(replicas)[0] == outcome::empty);
  }
}

TEST_CASE("replicas: a veto on one vetoes on all") {
  int asked = 0;
  std::vector<array> theta;
  int const refuses = 1;
  auto const make = [&](int r) {
    theta.emplace_back("theta", 1);
    return accrue::accumulator(accrue::parameters(theta.back()), accrue::per_sample{}, in_process_replicas<>{},
                               accrue::veto_on_host([&asked, r](accrue::group_finding const& found) {
                                 ++asked;
                                 return r == refuses && found.samples == 6;
                               }),
                               accrue::sgd{.learning_rate = 1.0});
  };
  auto first = make(0), second = make(1);
  for (auto const expected : {outcome::applied, outcome::vetoed}) {
    first.accumulate(mean_gradient{vector_of({1.0})}, accrue::samples{2});
    second.accumulate(mean_gradient{vector_of({4.0})}, accrue::samples{expected == outcome::vetoed ? 4 : 1});
    auto const done = accrue::update_replicas(first, second);
    CHECK(done[0] == expected);
    CHECK(done[1] == expected);
  }
  CHECK(asked == 4);
  CHECK(values(theta[0]) == std::vector{-2.0});
  CHECK(values(theta[1]) == std::vector{-2.0});
}

TEST_CASE("replicas: clip on the replica bounds each one's own mean gradient, before the sum") {
  std::vector<array> theta;
  auto replicas =
      make_replicas(2, 2, theta, accrue::per_token{}, accrue::on_replica(accrue::clip_by_global_norm{.max_norm = 1.0}));
  replicas[0].accumulate(sum_gradient{vector_of({6.0, 8.0})}, tokens{2});   // mean (3, 4), clipped (0.6, 0.8)
  replicas[1].accumulate(mean_gradient{vector_of({0.3, 0.4})}, tokens{6});  // within the bound
  accrue::update_replicas(replicas);
  for (array const& each : theta) {
    auto const found = values(each);
    CHECK(found[0] == doctest::Approx(-(2 * 0.6 + 6 * 0.3) / 8).epsilon(1e-12));
    CHECK(found[1] == doctest::Approx(-(2 * 0.8 + 6 * 0.4) / 8).epsilon(1e-12));
  }
}

TEST_CASE_TEMPLATE("replicas: every division is that of the full batch", Division, accrue::late, accrue::running) {
  std::vector<array> theta;
  auto replicas = make_replicas(3, 1, theta, accrue::per_token{}, Division{});
  double sum = 0.0, weight = 0.0;
  for (int m = 0; m < 7; ++m) {
    double const g = 1.0 + m * m;
    int const n = 1 + 3 * m;
    replicas[static_cast<std::size_t>(m % 2)].accumulate(mean_gradient{vector_of({g})}, tokens{n});
    sum += g * n, weight += n;
  }
  accrue::update_replicas(replicas);
  for (array const& each : theta) CHECK(values(each)[0] == doctest::Approx(-sum / weight).epsilon(1e-13));
}

TEST_CASE("replicas: the weight of an early division is that of all of them") {
  std::vector<array> theta;
  auto replicas = make_replicas(2, 1, theta, accrue::per_token{}, accrue::early{tokens{8}});
  replicas[0].accumulate(mean_gradient{vector_of({1.0})}, tokens{2});
  replicas[1].accumulate(mean_gradient{vector_of({5.0})}, tokens{6});
  accrue::update_replicas(replicas);
  CHECK(values(theta[0]) == std::vector{-4.0});
  replicas[0].accumulate(mean_gradient{vector_of({1.0})}, tokens{2});
  CHECK(contains(message_of([&] { accrue::update_replicas(replicas); }), "weigh"));
}

TEST_CASE_TEMPLATE("replicas: sums that carry more are exchanged with all of it", Summation, accrue::compensated,
                   accrue::order_independent) {
  using floats = Kokkos::View<float*>;
  std::vector<floats> theta;
  auto const make = [&] {
    theta.emplace_back("theta", 5);
    return accrue::accumulator(accrue::parameters(theta.back()), accrue::per_sample{}, Summation{},
                               in_process_replicas<>{}, accrue::sgd{.learning_rate = 1.0});
  };
  std::vector<decltype(make())> replicas;
  for (int r = 0; r < 3; ++r) replicas.push_back(make());
  auto const of = [](float x) {
    floats const made("gradient", 5);
    Kokkos::deep_copy(made, x);
    return made;
  };
  for (int group = 0; group < 2; ++group) {
    replicas[0].accumulate(sum_gradient{of(16777216.0f)}, accrue::samples{1});
    replicas[0].accumulate(sum_gradient{of(1.0f)}, accrue::samples{1});  // lost in float
    replicas[1].accumulate(sum_gradient{of(-16777216.0f)}, accrue::samples{1});
    replicas[1].accumulate(sum_gradient{of(7.0f)}, accrue::samples{1});
    accrue::update_replicas(replicas);
    for (auto const& each : theta) CHECK(values(each) == std::vector<float>(5, -2.0f * static_cast<float>(group + 1)));
  }
}

TEST_CASE("replicas: order_independent has one bit pattern in 1000 orders and placements on 1 to 8 of them") {
  using floats = Kokkos::View<float*>;
  constexpr int microbatches = 24;
  std::vector<floats> gradients;
  for (int m = 0; m < microbatches; ++m) {
    gradients.emplace_back("gradient", 37);
    for (std::size_t i = 0; i < 37; ++i)
      gradients.back()(i) =
          std::ldexp(static_cast<float>(std::sin(1.0 + 37.0 * m + static_cast<double>(i))), m % 9 - 4);
  }
  using made = decltype(accrue::accumulator(accrue::parameters(floats()), accrue::per_token{},
                                            accrue::order_independent{}, accrue::clip_by_global_norm{.max_norm = 0.1},
                                            in_process_replicas<>{}, accrue::sgd{.learning_rate = 1.0}));
  std::vector<floats> theta;
  std::vector<made> replicas;
  for (int r = 0; r < 8; ++r) {
    theta.emplace_back("theta", 37);
    replicas.emplace_back(accrue::parameters(theta.back()), accrue::per_token{}, accrue::order_independent{},
                          accrue::clip_by_global_norm{.max_norm = 0.1}, in_process_replicas<>{},
                          accrue::sgd{.learning_rate = 1.0});
  }
  std::mt19937_64 random(20261130);
  std::vector<int> order(microbatches);
  std::iota(order.begin(), order.end(), 0);
  std::vector<float> expected;
  std::vector<bool> used(8, false);
  for (int round = 0; round < 1000; ++round) {
    std::size_t const count = 1 + random() % 8;
    std::shuffle(order.begin(), order.end(), random);
    for (floats const& each : theta) Kokkos::deep_copy(each, 0.0f);
    for (int const m : order)
      replicas[random() % count].accumulate(mean_gradient{gradients[static_cast<std::size_t>(m)]}, tokens{1 + m});
    accrue::update_replicas(replicas);
    if (round == 0) expected = values(theta[0]);
    for (floats const& each : theta) REQUIRE(values(each) == expected);
    used[count - 1] = true;
  }
  CHECK(expected[3] != 0.0f);
  CHECK(std::count(used.begin(), used.end(), true) == 8);
}

TEST_CASE("replicas: named terms, each over the weight of all") {
  struct first {};
  struct second {};
  std::vector<array> theta;
  auto const make = [&] {
    theta.emplace_back("theta", 1);
    return accrue::accumulator(
        accrue::parameters(theta.back()),
        accrue::terms(accrue::term<first>(accrue::per_token{}), accrue::term<second>(accrue::per_sample{}, 0.5)),
        in_process_replicas<>{}, accrue::sgd{.learning_rate = 1.0});
  };
  std::vector<decltype(make())> replicas;
  for (int r = 0; r < 2; ++r) replicas.push_back(make());
  replicas[0].accumulate(accrue::of<first>(sum_gradient{vector_of({12.0})}, tokens{1}),
                         accrue::of<second>(mean_gradient{vector_of({8.0})}, accrue::samples{3}));
  replicas[1].accumulate(accrue::of<first>(sum_gradient{vector_of({6.0})}, tokens{5}));
  accrue::update_replicas(replicas);
  for (array const& each : theta) CHECK(values(each)[0] == doctest::Approx(-(18.0 / 6 + 0.5 * 8.0)).epsilon(1e-14));
}

TEST_CASE("replicas: the loss of a group is formed over all of them, on the host and on the device") {
  std::vector<array> theta;
  auto replicas = make_replicas(2, 1, theta, accrue::per_token{});
  Kokkos::View<double> const on_device("loss");
  Kokkos::deep_copy(on_device, 5.0);
  replicas[0].accumulate(sum_gradient{vector_of({1.0})}, tokens{1}, accrue::mean_loss{2.0});
  replicas[1].accumulate(sum_gradient{vector_of({1.0})}, tokens{3}, accrue::mean_loss{on_device});
  accrue::update_replicas(replicas);
  for (auto& each : replicas) CHECK(*each.ledger().records().back().loss == doctest::Approx(17.0 / 4).epsilon(1e-14));
}

TEST_CASE("replicas: a rejected microbatch is left out of the weight of all") {
  std::vector<array> theta;
  auto replicas = make_replicas(2, 1, theta, accrue::per_token{}, accrue::reject_microbatch{});
  replicas[0].accumulate(mean_gradient{vector_of({3.0})}, tokens{2});
  replicas[0].accumulate(mean_gradient{vector_of({undefined})}, tokens{100});
  replicas[1].accumulate(mean_gradient{vector_of({6.0})}, tokens{4});
  auto const done = accrue::update_replicas(replicas);
  for (std::size_t r = 0; r < 2; ++r) {
    CHECK(done[r] == outcome::applied);
    CHECK(values(theta[r]) == std::vector{-5.0});
    CHECK(replicas[r].ledger().records().back().weight == 6.0);
  }
  CHECK(replicas[0].ledger().rejected_microbatches() == accrue::microbatches{1});
  CHECK(replicas[1].ledger().rejected_microbatches() == accrue::microbatches{0});
}

TEST_CASE("replicas: what was rejected in a group is not in the next, where a replica holds nothing") {
  std::vector<array> theta;
  auto replicas = make_replicas(2, 1, theta, accrue::per_token{}, accrue::reject_microbatch{});
  replicas[0].accumulate(mean_gradient{vector_of({1.0})}, tokens{4});
  replicas[1].accumulate(mean_gradient{vector_of({1.0})}, tokens{6});
  replicas[1].accumulate(mean_gradient{vector_of({undefined})}, tokens{5});
  accrue::update_replicas(replicas);
  for (int group = 1; group <= 2; ++group) {
    replicas[0].accumulate(mean_gradient{vector_of({2.0})}, tokens{8});
    accrue::update_replicas(replicas);
    CHECK(values(theta[0]) == std::vector{-1.0 - 2.0 * group});
    CHECK(values(theta[1]) == values(theta[0]));
    CHECK(replicas[1].ledger().records().back().weight == 8.0);
    CHECK(replicas[1].ledger().records().back().rejected.microbatches == accrue::microbatches{0});
  }
  std::stringstream state;
  accrue::save(replicas[1], state);
  accrue::load(replicas[1], state);
}

TEST_CASE("replicas: where every microbatch was rejected, every scale backs off") {
  std::vector<array> theta;
  auto replicas = make_replicas(2, 1, theta, accrue::per_token{}, accrue::reject_microbatch{},
                                accrue::dynamic_scale{.initial = 1024.0f, .backoff = 0.5f});
  for (auto& each : replicas) each.accumulate(mean_gradient{vector_of({infinite})}, tokens{4});
  CHECK(accrue::update_replicas(replicas)[0] == outcome::empty);
  for (auto& each : replicas) {
    CHECK(each.loss_scale().value() == 512.0f);
    CHECK(each.ledger().consecutive_skips() == accrue::updates{1});
  }
  CHECK(values(theta[0]) == std::vector{0.0});
}

TEST_CASE("replicas: what arrives reduced is in the sum of a replica whose own count is zero") {
  std::vector<array> theta;
  auto const make = [&] {
    theta.emplace_back("theta", 1);
    return accrue::accumulator(accrue::parameters(theta.back()), accrue::per_token{},
                               in_process_replicas{accrue::averaged_gradients{}}, accrue::order_independent{},
                               accrue::clip_by_global_norm{.max_norm = 2.0}, accrue::sgd{.learning_rate = 1.0});
  };
  std::vector<decltype(make())> replicas;
  for (int r = 0; r < 2; ++r) replicas.push_back(make());
  replicas[0].accumulate(sum_gradient{vector_of({10.0})}, tokens{4});
  replicas[1].accumulate(sum_gradient{vector_of({10.0})}, tokens{0});
  accrue::update_replicas(replicas);
  for (std::size_t r = 0; r < 2; ++r) {
    CHECK(replicas[r].ledger().records().back().norm == 5.0);  // 2 * 10 / 4
    CHECK(values(theta[r]) == std::vector{-2.0});
  }
}

TEST_CASE("replicas: an observer that throws leaves all groups open, a veto that throws discards them") {
  struct throws_once {
    bool* armed;
    void group_closing(accrue::group_counts const&) {
      if (std::exchange(*armed, false)) throw std::runtime_error("observer");
    }
  };
  std::vector<array> theta;
  bool of_observer = true, of_veto = false;
  auto const make = [&] {
    theta.emplace_back("theta", 1);
    return accrue::accumulator(accrue::parameters(theta.back()), accrue::per_token{}, in_process_replicas<>{},
                               accrue::veto_on_host([&of_veto](accrue::group_finding const&) -> bool {
                                 if (std::exchange(of_veto, false)) throw std::runtime_error("veto");
                                 return false;
                               }),
                               accrue::sgd{.learning_rate = 1.0});
  };
  auto first = make(), second = make();
  second.observe(throws_once{&of_observer});
  first.accumulate(mean_gradient{vector_of({2.0})}, tokens{1});
  second.accumulate(mean_gradient{vector_of({4.0})}, tokens{3});
  CHECK_THROWS_AS(accrue::update_replicas(first, second), std::runtime_error);
  CHECK(first.held() == accrue::microbatches{1});
  accrue::update_replicas(first, second);
  CHECK(values(theta[1]) == std::vector{-3.5});
  CHECK(first.ledger().over_replicas().tokens == tokens{4});

  first.accumulate(mean_gradient{vector_of({2.0})}, tokens{1});
  of_veto = true;
  CHECK_THROWS_AS(accrue::update_replicas(first, second), std::runtime_error);
  CHECK(first.held() == accrue::microbatches{0});
  CHECK(first.ledger().dropped_groups() == 1);
  second.accumulate(mean_gradient{vector_of({4.0})}, tokens{3});
  accrue::update_replicas(first, second);
  CHECK(values(theta[0]) == std::vector{-7.5});
}

TEST_CASE("replicas: the last group is that of all of them") {
  auto const ended = [](auto last_group, int held_by_second) {
    std::vector<array> theta;
    auto replicas = make_replicas(2, 1, theta, accrue::per_sample{}, accrue::every{2}, last_group);
    for (int m = 0; m < 2; ++m) replicas[0].accumulate(mean_gradient{vector_of({3.0})}, accrue::samples{1});
    for (int m = 0; m < held_by_second; ++m)
      replicas[1].accumulate(mean_gradient{vector_of({6.0})}, accrue::samples{1});
    outcome const result = accrue::end_of_data_of_replicas(replicas)[1].result();
    CHECK(values(theta[0]) == values(theta[1]));
    return std::pair(result, values(theta[0])[0]);
  };
  CHECK(ended(accrue::keep_last{}, 1) == std::pair(outcome::applied, -4.0));
  CHECK(ended(accrue::pad_last{}, 1) == std::pair(outcome::applied, -3.0));  // 12 over 3 * 4 / 3
  CHECK(ended(accrue::drop_last{}, 1) == std::pair(outcome::dropped_last, 0.0));
  CHECK(ended(accrue::drop_last{}, 2) == std::pair(outcome::applied, -4.5));
  CHECK(ended(accrue::carry_last{}, 1) == std::pair(outcome::carried, 0.0));
  CHECK(contains(message_of([&] { ended(accrue::refuse_last{}, 1); }), "3 microbatches"));
}

TEST_CASE("replicas: one that does not agree is named, with the difference, and nothing is changed") {
  std::vector<array> theta;
  auto replicas = make_replicas(3, 1, theta, accrue::per_sample{}, accrue::clip_by_global_norm{.max_norm = 1.0});
  for (auto& each : replicas) each.accumulate(mean_gradient{vector_of({0.5})}, accrue::samples{1});
  replicas[2].change_rule(accrue::sgd{.learning_rate = 2.0});
  std::string const recipe = message_of([&] { accrue::update_replicas(replicas); });
  CHECK(contains(recipe, "replica 2"));
  CHECK(contains(recipe, "another recipe"));
  replicas[2].change_rule(accrue::sgd{.learning_rate = 1.0});
  accrue::update_replicas(replicas);
  CHECK(values(theta[2]) == std::vector{-0.5});

  accrue::update_replicas(replicas[0]);  // nothing is open: nothing closes
  replicas[0].accumulate(mean_gradient{vector_of({0.5})}, accrue::samples{1});
  accrue::update_replicas(replicas[0]);  // the others were forgotten
  replicas[1].accumulate(mean_gradient{vector_of({0.5})}, accrue::samples{1});
  CHECK(contains(message_of([&] { accrue::update_replicas(replicas); }), "is at group 2, not 3"));
  CHECK(contains(message_of([&] { accrue::update_replicas(replicas[0], replicas[0]); }), "given twice"));

  std::vector<array> others;
  auto longer = make_replicas(1, 2, others, accrue::per_sample{}, accrue::clip_by_global_norm{.max_norm = 1.0});
  std::vector<array> more;
  auto shorter = make_replicas(1, 1, more, accrue::per_sample{}, accrue::clip_by_global_norm{.max_norm = 1.0});
  shorter[0].accumulate(mean_gradient{vector_of({0.5})}, accrue::samples{1});
  CHECK(contains(message_of([&] { accrue::update_replicas(shorter[0], longer[0]); }), "other shapes"));
}

TEST_CASE("replicas: a loss scale that differs is refused before anything is summed") {
  std::vector<array> theta;
  auto replicas = make_replicas(2, 1, theta, accrue::per_sample{}, accrue::dynamic_scale{.initial = 8.0f});
  accrue::loss_scale_state state = replicas[1].loss_scale().state();
  state.scale = 4.0f;
  replicas[1].loss_scale().restore(state);
  for (auto& each : replicas) each.accumulate(mean_gradient{vector_of({8.0})}, accrue::samples{1});
  CHECK(contains(message_of([&] { accrue::update_replicas(replicas); }), "replica 1"));
}

TEST_CASE("replicas: adopted and lent gradients, and pending weights, are in the sum") {
  std::vector<array> theta;
  auto replicas = make_replicas(2, 3, theta, accrue::per_token{}, accrue::gather<2>{});
  replicas[0].adopt(sum_gradient{vector_of({1.0, 2.0, 3.0})}, tokens{1});
  auto [lent] = replicas[1].next_gradients();
  Kokkos::deep_copy(lent, 4.0);
  replicas[1].accumulate(mean_gradient{lent}, tokens{3});
  accrue::update_replicas(replicas);
  for (array const& each : theta) CHECK(values(each) == std::vector{-13.0 / 4, -14.0 / 4, -15.0 / 4});
}

TEST_CASE("drift_watch: parameters that drifted are found on the update that is looked at, and named") {
  std::vector<array> theta;
  auto replicas = make_replicas(3, 5, theta, accrue::per_sample{});
  accrue::drift_watch watch(2);
  auto const train = [&] {
    for (auto& each : replicas) each.accumulate(mean_gradient{vector_of({1, 2, 3, 4, 5})}, accrue::samples{1});
    accrue::update_replicas(replicas);
    return message_of([&] { watch(replicas[0], replicas[1], replicas[2]); });
  };
  for (int update = 0; update < 4; ++update) CHECK(train() == "no error");
  theta[1](3) += 0x1p-20;
  CHECK(train() == "no error");  // the fifth is not looked at
  CHECK(contains(train(), "after 6 updates replica 1 has other parameters than 2 of 3"));
  theta[1](3) = theta[0](3);
  CHECK(train() == "no error");
  std::swap(theta[2](0), theta[2](1));  // the same numbers in other places
  CHECK(contains(train(), "replica 2"));
  CHECK(contains(message_of([] { accrue::drift_watch never(0); }), "every is not above 0"));
}

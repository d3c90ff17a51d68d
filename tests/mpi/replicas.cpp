// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same group over any number of processes: each test is run by 1, 2, 3 and 4 of them.
#include <accrue/accrue.hpp>
#include <accrue/doctor/gradient_noise.hpp>
#include <accrue/doctor/sample_audit.hpp>
#include <accrue/drift_watch.hpp>
#include <accrue/fitting_microbatches.hpp>
#include <accrue/reduce/model_parallel.hpp>
#include <accrue/reduce/mpi_replicas.hpp>
#include <accrue/reduce/overlapped.hpp>
#include <accrue/replicas.hpp>
#include <accrue/restart.hpp>

#include "mpi/counted_calls.hpp"
#include "mpi/processes.hpp"
#include "support/host.hpp"
#include "support/message.hpp"

#include <doctest/doctest.h>
#include <mpi.h>
#include <Kokkos_Core.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using accrue::mean_gradient;
using accrue::mpi_replicas;
using accrue::outcome;
using accrue::sum_gradient;
using accrue::tokens;
using array = Kokkos::View<double*>;
using support::contains;
using support::message_of;
using support::values;

array vector_of(std::vector<double> const& elements) { return support::make_view<double>(elements); }

template <class... Policies>
auto make_replica(array const& theta, Policies const&... policies) {
  return accrue::accumulator(accrue::parameters(theta), policies..., mpi_replicas<>(),
                             accrue::sgd{.learning_rate = 1.0});
}

}  // namespace

TEST_CASE("P-052 mpi: the weight is that of all processes") {
  array const theta("theta", 1);
  auto group = make_replica(theta, accrue::per_token{});
  group.accumulate(sum_gradient{vector_of({6.0})}, tokens{1 + 2 * member()});
  CHECK(group.update() == outcome::applied);
  int const d = members();
  CHECK(values(theta)[0] == doctest::Approx(-6.0 * d / (d * d)).epsilon(1e-15));
  CHECK(group.ledger().over_replicas().tokens == tokens{d * d});
  CHECK(group.ledger().tokens() == tokens{1 + 2 * member()});
}

TEST_CASE("P-053 mpi: gradients that a framework has summed or averaged are not summed again") {
  int const d = members();
  auto const trained = [&](auto arrival, double arriving) {
    array const theta("theta", 1);
    accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, mpi_replicas(MPI_COMM_WORLD, arrival),
                              accrue::sgd{.learning_rate = 1.0});
    group.accumulate(sum_gradient{vector_of({arriving})}, tokens{2});
    group.update();
    return values(theta)[0];
  };
  CHECK(trained(accrue::local_gradients{}, 4.0) == -2.0);
  CHECK(trained(accrue::summed_gradients{}, 4.0 * d) == -2.0);
  CHECK(trained(accrue::averaged_gradients{}, 4.0) == -2.0);
}

TEST_CASE("P-054 mpi: replicas that end early go on taking part, and nobody hangs") {
  array const theta("theta", 1);
  auto group = make_replica(theta, accrue::per_sample{}, accrue::every{3}, accrue::keep_last{});
  // Process r has 7 - 2 r microbatches: the last ones have one or none.
  int const mine = std::max(0, 7 - 2 * member());
  double expected = 0.0;
  for (int first = 0; first < 7; first += 3) {
    double sum = 0.0;
    int count = 0;
    for (int r = 0; r < members(); ++r)
      for (int m = first; m < first + 3 && m < 7 - 2 * r; ++m) sum += m + 10.0 * r, ++count;
    if (count > 0) expected -= sum / count;
  }
  for (int m = 0; m < mine; ++m) {
    group.accumulate(mean_gradient{vector_of({m + 10.0 * member()})}, accrue::samples{1});
    if (group.full()) group.update();
  }
  CHECK(group.end_of_data() == outcome::applied);
  CHECK(values(theta)[0] == doctest::Approx(expected).epsilon(1e-14));
  CHECK(group.ledger().applied() == accrue::updates{3});
  CHECK(group.ledger().microbatches() == accrue::microbatches{mine});
  CHECK(group.end_of_data() == outcome::empty);  // once more: nothing is open anywhere
}

TEST_CASE("P-058 mpi: processes may hold different numbers of replicas") {
  std::vector<array> theta{array("theta", 1), array("theta", 1)};
  mpi_replicas<> const all;
  auto const make = [&](array const& of) {
    return accrue::accumulator(accrue::parameters(of), accrue::per_sample{}, all, accrue::sgd{.learning_rate = 1.0});
  };
  auto one = make(theta[0]), other = make(theta[1]);
  if (member() == 0) {
    one.accumulate(mean_gradient{vector_of({1.0})}, accrue::samples{1});
    other.accumulate(mean_gradient{vector_of({2.0})}, accrue::samples{1});
    accrue::update_replicas(one, other);
    CHECK(values(theta[1]) == values(theta[0]));
  } else {
    one.accumulate(mean_gradient{vector_of({6.0})}, accrue::samples{1});
    one.update();
  }
  CHECK(values(theta[0])[0] == doctest::Approx(-(3.0 + 6.0 * (members() - 1)) / (members() + 1)).epsilon(1e-15));
}

TEST_CASE("P-038 mpi: a NaN on one process skips on all, and every scale moves alike") {
  array const theta("theta", 1);
  auto group = make_replica(theta, accrue::per_sample{}, accrue::dynamic_scale{.initial = 1024.0f, .backoff = 0.5f});
  bool const last = member() == members() - 1;
  group.accumulate(mean_gradient{vector_of({last ? std::numeric_limits<double>::infinity() : 1.0})},
                   accrue::samples{1});
  CHECK(group.update() == outcome::skipped_non_finite);
  CHECK(group.loss_scale().value() == 512.0f);
  group.accumulate(mean_gradient{vector_of({512.0 * (1 + member())})}, accrue::samples{1});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta)[0] == doctest::Approx(-(1 + members()) / 2.0).epsilon(1e-15));
}

TEST_CASE("mpi: a slow process is waited for") {
  array const theta("theta", 1);
  auto group = make_replica(theta, accrue::per_sample{});
  if (member() == members() - 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  group.accumulate(mean_gradient{vector_of({2.0})}, accrue::samples{1});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta)[0] == -2.0);
}

TEST_CASE("mpi: whoever does not agree is named on every process, and nothing was summed") {
  array const theta("theta", 1);
  auto group = make_replica(theta, accrue::per_sample{});
  int const odd = members() - 1;
  group.accumulate(mean_gradient{vector_of({1.0})}, accrue::samples{1});
  if (member() == odd) group.change_rule(accrue::sgd{.learning_rate = 3.0});
  counted = {};
  std::string const message = message_of([&] { group.update(); });
  if (members() > 1) {
    CHECK(contains(message, "replica " + std::to_string(odd) + " has another recipe: sgd{learning_rate=3"));
    CHECK(contains(message, "where replica 0 says sgd{learning_rate=1"));
    CHECK(counted.sums == 0);
    CHECK(values(theta)[0] == 0.0);
    if (member() == odd) group.change_rule(accrue::sgd{.learning_rate = 1.0});
    group.update();
    CHECK(values(theta)[0] == -1.0);
  }
  array const longer("theta", member() == odd ? 2 : 1);
  auto other = make_replica(longer, accrue::per_sample{});
  other.accumulate(mean_gradient{array("gradient", longer.extent(0))}, accrue::samples{1});
  std::string const shapes = message_of([&] { other.update(); });
  if (members() > 1)
    CHECK(contains(shapes, "replica " + std::to_string(odd) + " has parameters of other shapes"));
  else
    CHECK(shapes == "no error");
}

TEST_CASE("mpi: a group is two small exchanges and one sum of the buffer, and nothing inside of it") {
  std::vector<Kokkos::View<float*>> const theta{Kokkos::View<float*>("a", 1000000), Kokkos::View<float*>("b", 250000)};
  std::vector<Kokkos::View<float*>> const gradient{Kokkos::View<float*>("a", 1000000),
                                                   Kokkos::View<float*>("b", 250000)};
  mpi_replicas<> const replicas;
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, replicas, accrue::sgd{});
  counted = {};
  for (int m = 0; m < 3; ++m) group.accumulate(mean_gradient{gradient}, tokens{5});
  CHECK(counted.gathers + counted.sums + counted.others == 0);
  group.update();
  CHECK(counted.gathers == 2);
  CHECK(counted.sums == 2);  // 5 MB in pieces of 4 MiB
  CHECK(counted.others == 0);
  double const model = 4.0 * 1250000 + 512 + 48;
  CHECK(static_cast<double>(counted.summed_bytes + counted.gathered_bytes) == doctest::Approx(model).epsilon(0.01));
  CHECK(replicas.spent().calls == counted.gathers + counted.sums);
  CHECK(replicas.spent().bytes == counted.summed_bytes + counted.gathered_bytes);
}

TEST_CASE("mpi: order_independent has the bits of one process, however microbatches are dealt out") {
  using floats = Kokkos::View<float*>;
  constexpr int microbatches = 24;
  auto const gradient = [](int m) {
    floats const made("gradient", 65);
    for (std::size_t i = 0; i < 65; ++i)
      made(i) = std::ldexp(static_cast<float>(std::sin(1.0 + 65.0 * m + static_cast<double>(i))), m % 7 - 3);
    return made;
  };
  auto const trained = [&](auto const& replicas, int d, int own, bool reversed) {
    floats const theta("theta", 65);
    accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::order_independent{},
                              accrue::clip_by_global_norm{.max_norm = 0.5}, replicas,
                              accrue::sgd{.learning_rate = 1.0});
    for (int g = 0; g < 2; ++g) {
      for (int k = own; k < microbatches; k += d) {
        int const m = reversed ? microbatches - 1 - k : k;
        group.accumulate(mean_gradient{gradient(m + g)}, tokens{1 + m});
      }
      group.update();
    }
    return values(theta);
  };
  auto const expected = trained(accrue::one_replica{}, 1, 0, false);
  CHECK(trained(mpi_replicas<>(), members(), member(), false) == expected);
  CHECK(trained(mpi_replicas<>(), members(), member(), true) == expected);
}

TEST_CASE("mpi: compensated sums go over in double") {
  using floats = Kokkos::View<float*>;
  floats const theta("theta", 3), large("gradient", 3), small("gradient", 3);
  Kokkos::deep_copy(large, member() % 2 == 0 ? 16777216.0f : -16777216.0f);
  Kokkos::deep_copy(small, 1.0f);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::compensated{}, mpi_replicas<>(),
                            accrue::sum_objective{}, accrue::sgd{.learning_rate = 1.0});
  group.accumulate(sum_gradient{large}, accrue::samples{1});
  group.accumulate(sum_gradient{small}, accrue::samples{1});
  group.update();
  double const expected = (members() % 2 == 0 ? 0.0 : 16777216.0) + members();
  CHECK(values(theta) == std::vector<float>(3, static_cast<float>(-expected)));
}

TEST_CASE("mpi: 1000 random groups with uneven data, skips and vetoes leave the same bits on all") {
  std::mt19937_64 common(4711);                                    // the same everywhere
  std::mt19937_64 own(99 + static_cast<std::uint64_t>(member()));  // another one everywhere
  array const theta("theta", 7), bias("bias", 2);
  std::vector<double> reference(7, 0.0);
  bool veto = false;
  accrue::accumulator group(accrue::parameters(theta, bias), accrue::per_token{},
                            accrue::clip_by_global_norm{.max_norm = 3.0},
                            accrue::veto_on_host([&veto](accrue::group_finding const&) { return veto; }),
                            mpi_replicas<>(), accrue::sgd{.learning_rate = 0.125});
  int applied = 0, skipped = 0, vetoed = 0, empty = 0;
  for (int g = 0; g < 1000; ++g) {
    bool const poisoned = common() % 10 == 0, vetoes = common() % 10 == 0;
    auto const who = static_cast<int>(common() % static_cast<std::uint64_t>(members()));
    auto const microbatches = static_cast<int>(own() % 4);
    std::vector<double> sum(9, 0.0);
    double weight = 0.0;
    double held = 0.0;
    for (int m = 0; m < microbatches; ++m) {
      auto const n = static_cast<std::int64_t>(own() % 50);  // 0 is ignored
      std::vector<double> numbers(7);
      for (double& x : numbers) x = static_cast<double>(static_cast<int>(own() % 2001) - 1000) / 250.0;
      bool const bad = poisoned && who == member() && m == 0;
      if (bad) numbers[3] = std::numeric_limits<double>::quiet_NaN();
      if (own() % 3 == 0) {
        group.accumulate(mean_gradient{vector_of(numbers), accrue::no_gradient}, tokens{n});
      } else {
        group.accumulate(mean_gradient{vector_of(numbers), vector_of({1.0, 2.0})}, tokens{n});
      }
      if (n > 0)
        for (std::size_t i = 0; i < 7; ++i) sum[i] += static_cast<double>(n) * numbers[i];
      weight += static_cast<double>(n);
      held += 1.0;
      (void)bad;
    }
    veto = vetoes && who == member();
    auto const done = group.update();
    sum[7] = weight, sum[8] = held;
    std::vector<double> total(9);
    PMPI_Allreduce(sum.data(), total.data(), 9, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bool finite = true;
    for (std::size_t i = 0; i < 7; ++i) finite = finite && std::isfinite(total[i]);
    outcome const expected = total[7] == 0.0 ? outcome::empty
                             : !finite       ? outcome::skipped_non_finite
                             : vetoes        ? outcome::vetoed
                                             : outcome::applied;
    REQUIRE(done == expected);
    applied += expected == outcome::applied, skipped += expected == outcome::skipped_non_finite;
    vetoed += expected == outcome::vetoed, empty += expected == outcome::empty;
    REQUIRE(same_everywhere(values(theta)));
    REQUIRE(same_everywhere(values(bias)));
  }
  CHECK(group.ledger().applied() == accrue::updates{applied});
  CHECK(group.ledger().skipped() == accrue::updates{skipped});
  CHECK(group.ledger().vetoed() == accrue::updates{vetoed});
  CHECK(applied > 300);
  CHECK(skipped > 10);
  CHECK(vetoed > 10);
}

TEST_CASE("P-055 mpi: halves are summed over the replicas in float, and floats in double where that is asked") {
  Kokkos::View<float*> const theta("theta", 3);
  Kokkos::View<accrue::float16*> const half("half", 3);
  Kokkos::deep_copy(half, accrue::float16(60000.0f));
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, mpi_replicas<>(),
                            accrue::sgd{.learning_rate = 1.0});
  group.accumulate(sum_gradient{half}, accrue::samples{1});
  group.accumulate(sum_gradient{half}, accrue::samples{1});
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>(3, -60000.0f));

  if (members() == 1) return;
  Kokkos::View<float*> const other("other", 1);
  accrue::accumulator wide(accrue::parameters(other), accrue::per_microbatch{}, mpi_replicas<>(),
                           accrue::widened<double>{}, accrue::sgd{.learning_rate = 1.0});
  float const large = 16777216.0f;  // the float after it is two more
  auto const bring = [&](float value) { wide.accumulate(mean_gradient{support::make_view<float>({value})}); };
  if (member() == 0) bring(large), bring(1.0f);
  if (member() == members() - 1) bring(-large), bring(0.0f);
  CHECK(wide.update() == outcome::applied);
  CHECK(values(other) == std::vector<float>{-0.25f});
}

TEST_CASE("mpi: a state saved between groups is read by any number of processes, one inside a group by its own") {
  array const theta("theta", 3);
  auto group = make_replica(theta, accrue::per_sample{});
  auto const hand_over = [](auto& to) { to.accumulate(mean_gradient{vector_of({1.0, 2.0, 3.0})}, accrue::samples{1}); };
  hand_over(group);
  group.update();
  std::stringstream between, inside;
  accrue::save(group, between);
  hand_over(group);
  accrue::save(group, inside);
  group.update();

  MPI_Comm alone = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, member(), 0, &alone);
  {
    array const other("other", 3);
    accrue::accumulator one(accrue::parameters(other), accrue::per_sample{}, mpi_replicas<>(alone),
                            accrue::sgd{.learning_rate = 1.0});
    std::string const message = message_of([&] { accrue::load(one, inside); });
    if (members() > 1)
      CHECK(contains(message, "by process " + std::to_string(member()) + " of " + std::to_string(members()) +
                                  ", and this is process 0 of 1"));
    else
      one.discard();
    CHECK((members() == 1 || values(other) == std::vector(3, 0.0)));
    if (members() > 1) {
      accrue::load(one, between);
      CHECK(values(other) == std::vector{-1.0, -2.0, -3.0});
      hand_over(one);
      CHECK(one.update() == outcome::applied);
      CHECK(values(other) == values(theta));
    }
  }
  MPI_Comm_free(&alone);

  array const again("again", 3);
  auto resumed = make_replica(again, accrue::per_sample{});
  inside.clear();
  inside.seekg(0);
  accrue::load(resumed, inside);
  resumed.update();
  CHECK(values(again) == values(theta));
}

namespace {
/// Remembers which thread made its sums.
struct watched_replicas : mpi_replicas<> {
  std::shared_ptr<std::thread::id> by = std::make_shared<std::thread::id>();
  template <class Exec, class Real>
  void sum(Exec const& exec, Real* first, std::int64_t count) const {
    *by = std::this_thread::get_id();
    mpi_replicas<>::sum(exec, first, count);
  }
};
}  // namespace

TEST_CASE("mpi: a thread sends where the members of this machine have a core for it, or where that is asked") {
  watched_replicas const transport;
  CHECK(transport.members_here() == members());
  auto const cores = accrue::own_cores::of_this_process();
  int const each = cores.all_of_machine ? cores.count / members() : cores.count;
  accrue::overlapped const by_cores{transport};
  CHECK(by_cores.sends_on_a_thread(each - 1));
  CHECK(!by_cores.sends_on_a_thread(each));
  for (auto const by : {accrue::sender::on_a_thread, accrue::sender::in_turn}) {
    bool const on_a_thread = by == accrue::sender::on_a_thread;
    accrue::overlapped const replicas{transport, by};
    CHECK(replicas.sends_on_a_thread(0) == on_a_thread);
    CHECK(replicas.sends_on_a_thread(cores.count) == on_a_thread);
    array const theta("theta", 3);
    accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, replicas,
                              accrue::sgd{.learning_rate = 1.0});
    group.accumulate(mean_gradient{vector_of({1.0, 2.0, 3.0})}, accrue::samples{1});
    CHECK(group.update() == outcome::applied);
    CHECK(values(theta) == std::vector{-1.0, -2.0, -3.0});
    CHECK((*transport.by != std::this_thread::get_id()) == on_a_thread);
  }
}

TEST_CASE("mpi: overlapped sums have the bits of those at the end, with data that need both ways") {
  using floats = Kokkos::View<float*>;
  constexpr std::size_t sizes[] = {1100000, 7, 1100001, 40000};
  auto const tensors = [&](char const* name) {
    std::vector<floats> all;
    for (std::size_t const size : sizes) all.emplace_back(name, size);
    return all;
  };
  auto const trained = [&](auto const& replicas, auto holding, bool uneven) {
    auto const theta = tensors("theta");
    std::vector<std::vector<floats>> gradients;
    for (int m = 0; m < 2; ++m) {
      gradients.push_back(tensors("gradient"));
      for (std::size_t v = 0; v < 4; ++v)
        for (std::size_t i = 0; i < sizes[v]; ++i)
          gradients.back()[v].data()[i] =
              static_cast<float>((i * 7919 + 31 * v + static_cast<std::size_t>(57 * m + 101 * member())) % 2003) *
                  1e-3f -
              1.0f;
    }
    accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, holding, replicas, accrue::keep_last{},
                              accrue::clip_by_global_norm{.max_norm = 1.0}, accrue::sgd{.learning_rate = 1.0});
    std::vector<double> norms;
    for (int g = 0; g < 3; ++g) {
      int const microbatches = uneven && member() == 1 ? g : 3;
      for (int m = 0; m < microbatches; ++m)
        group.accumulate(mean_gradient{gradients[static_cast<std::size_t>(m % 2)]}, tokens{1 + m + member()});
      CHECK(group.update() == outcome::applied);
      norms.push_back(group.ledger().records().back().norm);
    }
    std::vector<float> all;
    for (floats const& each : theta) {
      auto const numbers = values(each);
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    return std::pair(all, norms);
  };
  mpi_replicas<> const at_the_end;
  accrue::overlapped const while_adding{at_the_end};
  for (bool const uneven : {false, true}) {
    auto const expected = trained(at_the_end, accrue::one_at_a_time{}, uneven);
    CHECK(trained(while_adding, accrue::one_at_a_time{}, uneven) == expected);
    for (auto const by : {accrue::sender::on_a_thread, accrue::sender::in_turn})
      CHECK(trained(accrue::overlapped{at_the_end, by}, accrue::one_at_a_time{}, uneven) == expected);
    CHECK(trained(while_adding, accrue::gather<2>{}, uneven) == trained(at_the_end, accrue::gather<2>{}, uneven));
  }
}

TEST_CASE_TEMPLATE("mpi: partners share norm, finite check and decision, and count once what they hold in common",
                   Summation, accrue::widened<>, accrue::order_independent) {
  // With 4 processes two replicas of two partners; else one replica of as many partners.
  int const width = members() == 4 ? 2 : members();
  MPI_Comm of_replicas = MPI_COMM_NULL, of_partners = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, member() % width, 0, &of_replicas);
  MPI_Comm_split(MPI_COMM_WORLD, member() / width, 0, &of_partners);
  {
    array const part("part", 1), common("common", 1);
    accrue::accumulator group(accrue::parameters(part, accrue::held_in_common{common}), accrue::per_sample{},
                              Summation{}, accrue::clip_by_global_norm{.max_norm = 2.0},
                              accrue::model_parallel{mpi_replicas<>(of_replicas), mpi_replicas<>(of_partners)},
                              accrue::sgd{.learning_rate = 1.0});
    double const own = 1.0 + member() % width;
    group.accumulate(mean_gradient{vector_of({own}), vector_of({3.0})}, accrue::samples{1});
    CHECK(group.update() == outcome::applied);
    double squares = 9.0;
    for (int p = 0; p < width; ++p) squares += (1.0 + p) * (1.0 + p);
    double const norm = std::sqrt(squares);
    CHECK(group.ledger().records().back().norm == doctest::Approx(norm).epsilon(1e-14));
    CHECK(values(part)[0] == doctest::Approx(-own * 2.0 / norm).epsilon(1e-14));
    CHECK(values(common)[0] == doctest::Approx(-3.0 * 2.0 / norm).epsilon(1e-14));

    bool const last = member() == members() - 1;
    double const before = values(part)[0];
    group.accumulate(
        mean_gradient{vector_of({last ? std::numeric_limits<double>::quiet_NaN() : own}), vector_of({3.0})},
        accrue::samples{1});
    CHECK(group.update() == outcome::skipped_non_finite);
    CHECK(values(part)[0] == before);
  }
  MPI_Comm_free(&of_replicas);
  MPI_Comm_free(&of_partners);
}

TEST_CASE("mpi: where one partner of one replica runs out of memory, all processes fill the group again") {
  int const width = members() % 2 == 0 ? 2 : 1;
  MPI_Comm of_replicas = MPI_COMM_NULL, of_partners = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, member() % width, member(), &of_replicas);
  MPI_Comm_split(MPI_COMM_WORLD, member() / width, member(), &of_partners);
  {
    array const part("part", 1);
    accrue::accumulator group(accrue::parameters(part), accrue::per_sample{}, accrue::every{1}, accrue::keep_last{},
                              accrue::model_parallel{mpi_replicas<>(of_replicas), mpi_replicas<>(of_partners)},
                              accrue::sgd{.learning_rate = 1.0});
    accrue::fitting_microbatches fit(accrue::samples{4}, accrue::samples{4});
    bool fails = member() == members() - 1;
    auto const backward = [&](auto& filled, std::int64_t first, std::int64_t last) {
      if (fails && last == 4 && last - first > 1) throw std::bad_alloc();
      filled.accumulate(mean_gradient{vector_of({0.5 * static_cast<double>(first + last - 1)})},
                        accrue::samples{last - first});
    };
    CHECK(fit.update(group, 0, 4, backward) == outcome::applied);
    CHECK(values(part)[0] == -1.5);
    CHECK(fit.plan().microbatch == accrue::samples{1});
    CHECK(group.ledger().over_replicas().samples == accrue::samples{4 * (members() / width)});

    int const replica = member() / width;  // of which each ends with another group
    for (int g = 0; g < replica; ++g) fit.update(group, 0, 4, backward);
    CHECK_NOTHROW(fit.end_of_data(group, 0, replica % 3, backward));

    std::string const text = message_of([&] {
      fit.update(group, 0, 4, [&](auto& filled, std::int64_t first, std::int64_t last) {
        if (fails && last == 4) throw std::bad_alloc();
        backward(filled, first, last);
      });
    });
    CHECK(text.find(fails ? "a microbatch of 1 sample runs out of memory" : "could not fill their group") !=
          std::string::npos);
    fails = false;
    CHECK(fit.update(group, 0, 4, backward) == outcome::applied);
  }
  MPI_Comm_free(&of_replicas);
  MPI_Comm_free(&of_partners);
}

TEST_CASE("P-060 mpi: an audit finds what several processes read") {
  mpi_replicas<> const replicas;
  accrue::sample_audit audit;
  std::vector<std::int64_t> const same{0, 1, 2}, own{10 + member()};
  audit.add(accrue::sample_ids(same));
  audit.add(accrue::sample_ids(own));
  auto const report = accrue::audit_group(replicas, audit);
  CHECK(report.processed == 4 * members());
  CHECK(report.unique == 3 + members());
  CHECK(report.across_replicas == (members() > 1 ? 3 : 0));
}

TEST_CASE("mpi: a replica that drifted is named on all") {
  array const theta("theta", 4);
  auto group = make_replica(theta, accrue::per_sample{});
  accrue::drift_watch watch(1);
  CHECK(message_of([&] { watch(group); }) == "no error");
  if (member() == 1) theta(2) = 1e-300;
  std::string const message = message_of([&] { watch(group); });
  CHECK(contains(message, "replica 1 has other parameters") == (members() > 1));
}

TEST_CASE("mpi: what MPI refuses is an error with its text") {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  MPI_Error_string(MPI_ERR_COUNT, text, &length);
  REQUIRE(length > 0);
  auto const message = message_of([] { accrue::detail::require_mpi(MPI_ERR_COUNT, "MPI_Allreduce"); });
  CHECK(contains(message, "MPI_Allreduce failed: " + std::string(text, static_cast<std::size_t>(length))));
}

TEST_CASE("mpi: gradient noise is found from what each process holds, and asking for it changes no update") {
  auto const trained = [](auto const& replicas, bool asks, accrue::gradient_noise* noise) {
    array const theta("theta", 2);
    accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, replicas, accrue::keep_last{},
                              accrue::sgd{.learning_rate = 1.0});
    for (int g = 0; g < 2; ++g) {
      array const gradient = vector_of({1.0 + member(), 2.0 * g});
      for (int m = 0; m < 2; ++m) group.accumulate(mean_gradient{gradient}, tokens{1 + member()});
      std::vector<accrue::noise_part> parts;
      if (asks) {
        double const norm = group.measure().norm;
        parts = parts_of_members(replicas, {norm * norm, static_cast<double>(group.counts_held().tokens.value())});
      }
      CHECK(group.update() == outcome::applied);
      if (noise != nullptr) noise->add(parts, group.ledger().records().back());
    }
    return values(theta);
  };
  mpi_replicas<> const at_the_end;
  accrue::overlapped const while_adding{at_the_end};
  accrue::gradient_noise found, found_overlapped, by_hand;
  auto const expected = trained(at_the_end, false, nullptr);
  CHECK(trained(at_the_end, true, &found) == expected);
  CHECK(trained(while_adding, true, &found_overlapped) == expected);

  double squares = 0.0, inverse = 0.0, weight = 0.0, sum = 0.0;
  for (int r = 0; r < members(); ++r) {
    double const held = 2.0 * (1 + r);
    squares += (1.0 + r) * (1.0 + r) + 4.0;
    inverse += 1.0 / held;
    weight += held;
    sum += held * (1.0 + r);
  }
  if (members() == 1) {
    CHECK(found.groups() == 0);  // one replica is no smaller than the group
    return;
  }
  double const mean = sum / weight;
  by_hand.add(squares / members(), members() / inverse, mean * mean + 4.0, weight);
  for (auto const& each : {found, found_overlapped}) {
    CHECK(each.groups() == 2);
    CHECK(each.last().noise == doctest::Approx(by_hand.last().noise).epsilon(1e-12));
    CHECK(each.last().signal == doctest::Approx(by_hand.last().signal).epsilon(1e-12));
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory and lifetime: P-067, P-083, P-084.
#include "support/host.hpp"

#include <accrue/accumulator.hpp>
#include <accrue/finalize/last_group.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/finalize/objective.hpp>
#include <accrue/update/adam.hpp>
#include <accrue/update/sgd.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using accrue::mean_gradient;
using accrue::outcome;
using support::make_view;
using support::taken;
using support::values;

namespace {

struct allocations {
  std::int64_t live = 0;
  std::int64_t bytes = 0;
  std::int64_t made = 0;
  friend bool operator==(allocations const&, allocations const&) = default;
};

/// What Kokkos allocates and frees while this object lives.
class allocation_count {
 public:
  allocation_count() : before_(Kokkos::Tools::Experimental::get_callbacks()) {
    now_ = {};
    labels_.clear();
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle, char const* label, void const*, std::uint64_t bytes) {
          ++now_.live, ++now_.made, now_.bytes += static_cast<std::int64_t>(bytes);
          labels_.emplace_back(label);
        });
    Kokkos::Tools::Experimental::set_deallocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle, char const*, void const*, std::uint64_t bytes) {
          --now_.live, now_.bytes -= static_cast<std::int64_t>(bytes);
        });
  }
  allocation_count(allocation_count const&) = delete;
  ~allocation_count() { Kokkos::Tools::Experimental::set_callbacks(before_); }

  [[nodiscard]] allocations now() const { return now_; }
  [[nodiscard]] std::vector<std::string> const& labels() const { return labels_; }

 private:
  inline static allocations now_;
  inline static std::vector<std::string> labels_;
  Kokkos::Tools::Experimental::EventSet before_;
};

auto in_groups_of(int per_group, Kokkos::View<float*> theta) {
  return accrue::accumulator(accrue::parameters(theta), accrue::per_microbatch{}, accrue::every{per_group},
                             accrue::keep_last{}, accrue::sgd{.learning_rate = 1.0});
}

}  // namespace

TEST_CASE("P-067 the counter of allocations counts") {
  allocation_count const count;
  {
    Kokkos::View<float*> const view("counted", 100);
    CHECK(count.now().live == 1);
    CHECK(count.now().bytes >= 400);
    CHECK(count.labels() == std::vector<std::string>{"counted"});
  }
  CHECK(count.now() == allocations{0, 0, 1});
}

TEST_CASE("P-067 memory grows neither with microbatches nor with groups") {
  Kokkos::View<float*> theta("theta", 1000), gradient("gradient", 1000), bias("bias", 10);
  Kokkos::View<double> loss("loss");
  allocation_count const count;
  accrue::accumulator group(accrue::parameters(theta, bias), accrue::per_token{}, accrue::every{1000},
                            accrue::keep_last{}, accrue::adamw{});
  for (std::string const& label : count.labels()) CHECK(label.starts_with("accrue::"));
  auto const accumulate = [&] {
    group.accumulate(mean_gradient{gradient, accrue::no_gradient}, accrue::tokens{3}, accrue::mean_loss{loss});
  };

  accumulate();
  auto const after_one = count.now();
  CHECK(after_one.live > 0);
  while (!group.full()) accumulate();
  CHECK(count.now() == after_one);  // a kept gradient or loss of each microbatch: 1000 more

  group.update();
  group.change_boundary(accrue::every{2});
  for (int i = 0; i < 100; ++i) {
    accumulate();
    accumulate();
    CHECK(group.update() == outcome::applied);
  }
  CHECK(group.ledger().groups() == 101);
  CHECK(count.now() == after_one);
}

TEST_CASE("P-083 an accumulator leaves nothing behind that outlives it") {
  Kokkos::View<float*> theta("theta", 3);
  auto const gradient = make_view<float>({1, 2, 3});
  allocation_count const count;
  {
    auto group = in_groups_of(1, theta);
    group.accumulate(mean_gradient{gradient});
    auto const handle = group.update();
    auto const copy = group.ledger();
    CHECK(handle == outcome::applied);
  }
  CHECK(count.now().made > 0);
  CHECK(count.now().live == 0);  // a cache of the library: freed after finalize
}

TEST_CASE("P-083 an accumulator that goes in the middle of a group applies nothing") {
  Kokkos::View<float*> theta("theta", 1);
  {
    auto group = in_groups_of(4, theta);
    group.accumulate(mean_gradient{make_view<float>({1})});
  }
  CHECK(values(theta) == std::vector<float>{0});

  auto group = in_groups_of(4, theta);
  group.accumulate(mean_gradient{make_view<float>({1})});
  group = in_groups_of(2, theta);
  CHECK(values(theta) == std::vector<float>{0});
  CHECK(group.held() == accrue::microbatches{0});
}

TEST_CASE("P-083 a discarded group leaves nothing to the next one") {
  Kokkos::View<float*> theta("theta", 1);
  auto group = in_groups_of(2, theta);
  group.accumulate(mean_gradient{make_view<float>({100})});
  group.discard();
  CHECK(group.held() == accrue::microbatches{0});
  CHECK(group.ledger().dropped_microbatches() == accrue::microbatches{1});
  for (int i = 0; i < 2; ++i) group.accumulate(mean_gradient{make_view<float>({1})});
  group.update();
  CHECK(taken(theta) == std::vector<float>{1});
}

TEST_CASE("P-083 a moved accumulator goes on where it was, the one moved from refuses") {
  Kokkos::View<float*> theta("theta", 1);
  auto group = in_groups_of(2, theta);
  group.accumulate(mean_gradient{make_view<float>({1})});
  auto const moved = std::make_unique<decltype(group)>(std::move(group));
  CHECK(moved->held() == accrue::microbatches{1});
  moved->accumulate(mean_gradient{make_view<float>({3})});
  CHECK(moved->update() == outcome::applied);
  CHECK(taken(theta) == std::vector<float>{2});
  CHECK(moved->ledger().applied() == accrue::updates{1});
  // NOLINTNEXTLINE(bugprone-use-after-move): that is what is tested
  CHECK_THROWS_AS(group.accumulate(mean_gradient{make_view<float>({1})}), accrue::error);
  CHECK_THROWS_AS(group.update(), accrue::error);
  CHECK(values(theta) == std::vector<float>{0});
}

TEST_CASE("P-084 a snapshot is a copy") {
  Kokkos::View<float*> theta("theta", 2);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_microbatch{}, accrue::sum_objective{},
                            accrue::sgd{.learning_rate = 1.0});
  group.accumulate(accrue::sum_gradient{make_view<float>({1, 2})});
  auto const before = group.snapshot<0>();
  group.accumulate(accrue::sum_gradient{make_view<float>({10, 10})});
  CHECK(values(before) == std::vector<float>{1, 2});  // a view of the buffer: 11 and 12
  CHECK(values(group.snapshot<0>()) == std::vector<float>{11, 12});
  group.update();
  CHECK(values(before) == std::vector<float>{1, 2});
}

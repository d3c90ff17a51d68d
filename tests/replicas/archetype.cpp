// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A transport of a user needs no more than the concept says.
#include <accrue/accrue.hpp>
#include <accrue/reduce/sharded.hpp>
#include <accrue/replicas.hpp>

#include "support/host.hpp"
#include "support/lone_transport.hpp"

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

template <class Real>
struct multiply {
  Real* numbers;
  Real by;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { numbers[i] *= by; }
};

/// As little as a transport may have: every member says the same, so that none has to be asked.
struct mirror {
  using fills = accrue::slot::replicas;
  using arrival = accrue::local_gradients;
  static constexpr bool alone = false;

  int count = 1;

  [[nodiscard]] int members() const { return count; }
  [[nodiscard]] static int member() { return 0; }
  void gather(std::byte const* mine, std::size_t bytes, std::byte* all) const {
    for (int m = 0; m < count; ++m) std::copy_n(mine, bytes, all + static_cast<std::size_t>(m) * bytes);
  }
  template <class Exec, class Real>
  void sum(Exec const& exec, Real* first, std::int64_t numbers) const {
    Kokkos::parallel_for("mirror", Kokkos::RangePolicy<Exec>(exec, 0, numbers),
                         multiply<Real>{first, static_cast<Real>(count)});
    exec.fence("mirror: the sum is there");
  }
  template <class Exec>
  static void largest(Exec const&, std::uint8_t*, std::int64_t) {}
  friend bool operator==(mirror const&, mirror const&) = default;
};
static_assert(accrue::replica_transport<mirror> && accrue::replicas_policy<mirror>);

}  // namespace

TEST_CASE_TEMPLATE("replicas: a transport of a user's own is enough for a group", Summation, accrue::widened<>,
                   accrue::widened<double>, accrue::compensated, accrue::order_independent) {
  Kokkos::View<float*> const theta("theta", 3), gradient("gradient", 3);
  Kokkos::deep_copy(gradient, 6.0f);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, Summation{}, mirror{5}, accrue::keep_last{},
                            accrue::sgd{.learning_rate = 1.0});
  group.accumulate(accrue::sum_gradient{gradient}, accrue::tokens{2});
  CHECK(group.update() == accrue::outcome::applied);
  CHECK(support::values(theta) == std::vector<float>(3, -3.0f));
  CHECK(group.ledger().records().back().weight == 10.0);
  CHECK(group.ledger().over_replicas().tokens == accrue::tokens{10});
  group.accumulate(accrue::sum_gradient{gradient}, accrue::tokens{2});
  CHECK(group.end_of_data() == accrue::outcome::applied);
  CHECK(support::values(theta) == std::vector<float>(3, -6.0f));
}

TEST_CASE("replicas: a transport whose members keep shards needs two functions more") {
  Kokkos::View<float**, Kokkos::LayoutLeft> const theta("theta", 3, 2), gradient("gradient", 3, 2);
  Kokkos::View<double*> const bias("bias", 1), of_bias("of bias", 1);
  support::fill(gradient, {1, 2, 3, 4, 5, 6});
  support::fill(of_bias, {8});
  accrue::accumulator group(accrue::parameters(theta, bias), accrue::per_token{},
                            accrue::sharded{support::lone_transport{}}, accrue::keep_last{},
                            accrue::sgd{.learning_rate = 1.0});
  group.accumulate(accrue::sum_gradient{gradient, accrue::no_gradient}, accrue::tokens{1});
  group.accumulate(accrue::sum_gradient{gradient, of_bias}, accrue::tokens{1});
  CHECK(group.update() == accrue::outcome::applied);
  CHECK(support::values(theta) == std::vector<float>{-1, -2, -3, -4, -5, -6});
  CHECK(support::values(bias) == std::vector{-4.0});
  group.accumulate(accrue::sum_gradient{gradient, accrue::no_gradient}, accrue::tokens{0});
  CHECK(group.end_of_data() == accrue::outcome::empty);
  CHECK(support::values(bias) == std::vector{-4.0});
}

TEST_CASE("shard: members keep runs of one length, which end at the alignment") {
  CHECK(accrue::shard{0, 1}.words_of_each(48, 16) == 48);
  CHECK(accrue::shard{2, 4}.words_of_each(64, 16) == 16);
  CHECK(accrue::shard{2, 4}.words_of_each(80, 16) == 32);  // the last two keep nothing but padding
  CHECK(accrue::shard{0, 3}.words_of_each(0, 16) == 0);
}

TEST_CASE("block: chunks are cut where a run of words begins and ends") {
  std::vector<accrue::chunk> const chunks{{0, 10, 0}, {10, 20, 0}, {0, 5, 1}};
  std::vector<accrue::placement> const at{{0, 0}, {32, 0}};
  CHECK((accrue::chunks_between(chunks, at, 0, 64) == chunks));
  CHECK((accrue::chunks_between(chunks, at, 4, 34) == std::vector<accrue::chunk>{{4, 10, 0}, {10, 20, 0}, {0, 2, 1}}));
  CHECK(accrue::chunks_between(chunks, at, 20, 32).empty());
}

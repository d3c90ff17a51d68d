// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/accumulate/add_microbatch.hpp>
#include <accrue/accumulate/boundary.hpp>
#include <accrue/accumulate/gate.hpp>
#include <accrue/accumulate/summation.hpp>
#include <accrue/accumulate/weigh.hpp>
#include <accrue/accumulator.hpp>
#include <accrue/core/half.hpp>
#include <accrue/finalize/clip_by_global_norm.hpp>
#include <accrue/finalize/clip_by_value.hpp>
#include <accrue/update/sgd.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

using loss_view = Kokkos::View<float, Kokkos::HostSpace>;

template class accrue::at_least<accrue::samples>;
template class accrue::at_least<accrue::tokens>;
template struct accrue::widened<>;
template struct accrue::widened<float>;
template struct accrue::widened<double>;
template struct accrue::admission<std::int64_t>;
template struct accrue::weigh_plainly<Kokkos::complex<float>>;
template struct accrue::weigh_clipped_by_norm<double, accrue::clip_by_global_norm>;
template struct accrue::weigh_bounded<float, accrue::clip_by_value>;
template struct accrue::add_loss<loss_view>;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// ---- summation: what sums are kept in

template <class Sum, class P>
using kept_in = typename Sum::template buffer_scalar<P>;
using c32 = Kokkos::complex<float>;
using c64 = Kokkos::complex<double>;
using plain = accrue::widened<>;
using in_float = accrue::widened<float>;
using in_double = accrue::widened<double>;
static_assert(std::is_same_v<kept_in<plain, accrue::bfloat16>, float> && std::is_same_v<kept_in<plain, float>, float>);
static_assert(std::is_same_v<kept_in<plain, double>, double> && std::is_same_v<kept_in<plain, c32>, c32>);
static_assert(std::is_same_v<kept_in<plain, c64>, c64>);
static_assert(std::is_same_v<kept_in<in_float, accrue::float16>, float> && std::is_same_v<kept_in<in_float, c32>, c32>);
static_assert(std::is_same_v<kept_in<in_float, double>, double>);  // at least float: double is not narrowed
static_assert(std::is_same_v<kept_in<in_double, accrue::float16>, double>);
static_assert(std::is_same_v<kept_in<in_double, float>, double> && std::is_same_v<kept_in<in_double, c32>, c64>);

template <class Call>
std::string what(Call call) {
  try {
    call();
  } catch (accrue::error const& e) {
    return e.what();
  }
  return "nothing thrown";
}

accrue::group_counts holding(int microbatches, int samples, int tokens) {
  return {accrue::microbatches{microbatches}, {}, accrue::samples{samples}, accrue::tokens{tokens}, {}, {}};
}

/// A normalization that is simply a number.
template <class Count>
struct counts_as {
  using count_type = Count;
  static inline Count value{};
  static Count count(accrue::microbatch_facts const&) { return value; }
};
struct mean {
  static constexpr bool own_is_mean = true;
};
struct sum {
  static constexpr bool own_is_mean = false;
};

template <class Objective, class Count>
auto admitted(Count count, bool is_mean) {
  counts_as<Count>::value = count;
  return accrue::admit<counts_as<Count>, Objective>({}, is_mean);
}

using view = Kokkos::View<double*>;

/// One group with one parameter of two elements; the update is minus the finalized gradient.
template <class Objective, class Clip>
class run {
 public:
  explicit run(Clip clip)
      : group_(accrue::parameters(theta_), accrue::per_token{}, Objective{}, accrue::on_microbatch(clip),
               accrue::sgd{.learning_rate = 1.0}) {}

  template <template <class...> class Contribution>
  run& add(double x, double y, int tokens) {
    view const gradient("gradient", 2);
    auto const host = Kokkos::create_mirror_view(gradient);
    host(0) = x, host(1) = y;
    Kokkos::deep_copy(gradient, host);
    group_.accumulate(Contribution<view>(gradient), accrue::tokens{tokens});
    return *this;
  }
  std::vector<double> update() {
    if (group_.update() != accrue::outcome::applied) return {};
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, theta_);
    return {-host(0), -host(1)};
  }

 private:
  view theta_{"theta", 2};
  decltype(accrue::accumulator(accrue::parameters(theta_), accrue::per_token{}, Objective{},
                               accrue::on_microbatch(std::declval<Clip>()), accrue::sgd{})) group_;
};

}  // namespace

TEST_CASE("every: a group is full after so many microbatches, whatever they hold") {
  accrue::every const three{3};
  CHECK(!three.full(holding(2, 9999, 9999)));
  CHECK(three.full(holding(3, 0, 0)));
  CHECK(three.full(holding(4, 0, 0)));
  CHECK(three == accrue::every{accrue::microbatches{3}});
  CHECK(three != accrue::every{std::uint8_t{4}});
}

TEST_CASE("every: takes a variable of any integral type, and no number below 1") {
  static_assert(!std::is_constructible_v<accrue::every, bool>);
  long long n = 16;
  CHECK(accrue::every{n}.microbatches() == accrue::microbatches{16});
  CHECK(what([] { (void)accrue::every{0}; }) ==
        "accrue::every: 0 microbatches make no group; a group would never be full; give 1 or more");
  CHECK(what([] { (void)accrue::every{-3}; }) ==
        "accrue::every: -3 microbatches make no group; a group would never be full; give 1 or more");
  CHECK(what([] {
          (void)accrue::every{accrue::microbatches{}};
        }).find("accrue::every: 0 microbatches make no group; ") == 0);
}

static_assert(accrue::every{2}.microbatches() == accrue::microbatches{2} && !accrue::every{2}.full({}));
static_assert(accrue::at_least{accrue::tokens{8}}.target() == accrue::tokens{8});
static_assert(!accrue::at_least{accrue::samples{8}}.full({}));

TEST_CASE("at_least: a group is full from so many samples or tokens on, not before") {
  accrue::at_least const samples{accrue::samples{64}};
  CHECK(!samples.full(holding(99, 63, 9999)));
  CHECK(samples.full(holding(1, 64, 0)));
  accrue::at_least const tokens{accrue::tokens{4096}};
  static_assert(std::is_same_v<decltype(tokens), accrue::at_least<accrue::tokens> const>);
  static_assert(std::is_same_v<decltype(tokens)::needs, accrue::tokens>);
  CHECK(!tokens.full(holding(99, 9999, 4095)));
  CHECK(tokens.full(holding(1, 0, 5000)));
  CHECK(what([] {
          (void)accrue::at_least{accrue::tokens{0}};
        }).find("accrue::at_least: a group of at least 0 is full when it opens; ") == 0);
  CHECK(!accrue::user_closes{}.full(holding(9999, 9999, 9999)));
}

TEST_CASE("gate: a mean weighs its count, a sum weighs 1") {
  auto const a = admitted<mean>(std::int64_t{512}, true);
  CHECK(a.count == 512);
  CHECK(!a.ignored);
  CHECK(a.by.product == 512.0);
  CHECK(a.by.to_own * a.by.weight == 512.0);
  CHECK(a.by.to_own == 1.0);  // its own gradient is what was given

  auto const b = admitted<mean>(std::int64_t{512}, false);
  CHECK(b.by.product == 1.0);
  CHECK(b.by.own_divisor == 512.0);
  CHECK(b.by.to_own == 1.0 / 512.0);  // its own gradient is its mean
  CHECK(b.by.weight == 512.0);

  auto const c = admitted<sum>(std::int64_t{512}, true);
  CHECK(c.by.product == 512.0);
  CHECK(c.by.to_own == 512.0);  // its own gradient is its sum
  CHECK(c.by.weight == 1.0);

  auto const d = admitted<sum>(0.25, false);
  CHECK(d.by.product == 1.0);
  CHECK(d.by.to_own == 1.0);
  CHECK(d.by.weight == 1.0);
}

TEST_CASE("gate: a count of 0 is ignored, but a sum under the sum objective needs none") {
  CHECK(admitted<mean>(std::int64_t{0}, true).ignored);
  CHECK(admitted<mean>(std::int64_t{0}, false).ignored);
  CHECK(admitted<sum>(std::int64_t{0}, true).ignored);
  CHECK(!admitted<sum>(std::int64_t{0}, false).ignored);
  CHECK(admitted<mean>(0.0, true).ignored);
  CHECK(!admitted<mean>(1e-300, true).ignored);
}

TEST_CASE("gate: a count below 0 or NaN is refused") {
  CHECK(what([] {
          (void)admitted<mean>(std::int64_t{-1}, true);
        }).find("accrue: the normalization counts less than nothing in a microbatch; ") == 0);
  CHECK_THROWS_AS((void)admitted<sum>(-1e-300, false), accrue::error);
  CHECK_THROWS_AS((void)admitted<mean>(not_a_number, true), accrue::error);
}

TEST_CASE("weigh: the factor is rounded once, to the scalar of the buffer") {
  double const third = 1.0 / 3.0;
  CHECK(accrue::weigh_plainly<float>{static_cast<float>(third)}(3.0f) == 3.0f * static_cast<float>(third));
  CHECK(accrue::weigh_plainly<Kokkos::complex<double>>{2.0}(Kokkos::complex<double>(1.0, -3.0)) ==
        Kokkos::complex<double>(2.0, -6.0));
  accrue::norm_partial total{.sum = 100.0};
  accrue::weigh_clipped_by_norm<double, accrue::clip_by_global_norm> const weigh{
      {.to_own = 0.1, .weight = 10.0, .product = 1.0}, {.max_norm = 1.0}, {2.0}, &total};
  CHECK(weigh.resolve()(7.0) == 7.0);  // not clipped: exactly w_i, and not 0.1 * 10
  total.sum = 400.0;                   // its own norm is 2
  CHECK(weigh.resolve()(8.0) == 0.1 * 0.5 * 10.0 * 8.0);
  total.sum = std::numeric_limits<double>::infinity();
  CHECK(weigh.resolve()(8.0) == std::numeric_limits<double>::infinity());  // for the finite check of the group
}

TEST_CASE("weigh: a microbatch whose norm is the bound is left alone, whatever its count") {
  for (double count = 1.0; count <= 1000.0; ++count) {
    accrue::norm_partial total{.sum = count * count};
    accrue::weigh_clipped_by_norm<double, accrue::clip_by_global_norm> const weigh{
        {.to_own = 1.0 / count, .own_divisor = count, .weight = count, .product = 1.0},
        {.max_norm = 1.0},
        {2.0},
        &total};
    CHECK(weigh.resolve()(count) == count);
  }
}

TEST_CASE("weigh: elements are bounded in the microbatch's own gradient, then weighed") {
  accrue::weigh_bounded<double, accrue::clip_by_value> const weigh{{.to_own = 0.25, .weight = 4.0, .product = 1.0},
                                                                   {.max_value = 2.0}};
  CHECK(weigh.resolve()(4.0) == 4.0);
  CHECK(weigh.resolve()(100.0) == 8.0);
  CHECK(weigh.resolve()(-100.0) == -8.0);
}

TEST_CASE("a loss on the device is set by the first, and added to by the others") {
  loss_view const loss("loss");
  loss() = 2.5f;
  double total = not_a_number;
  accrue::add_loss<loss_view>{loss, 4.0, &total, true}(0);
  CHECK(total == 10.0);
  accrue::add_loss<loss_view>{loss, 2.0, &total, false}(0);
  CHECK(total == 15.0);
}

TEST_CASE("a clip on the microbatch bounds its own mean before it is weighed, given as mean or as sum") {
  accrue::clip_by_global_norm const clip{.max_norm = 2.5};
  run<accrue::mean_objective, accrue::clip_by_global_norm> means(clip), sums(clip);
  // The mean (3, 4) has norm 5 and is halved; (0, 1) stays: (1 * (1.5, 2) + 3 * (0, 1)) / 4.
  CHECK(means.add<accrue::mean_gradient>(3, 4, 1).add<accrue::mean_gradient>(0, 1, 3).update() ==
        std::vector{0.375, 1.25});
  CHECK(sums.add<accrue::sum_gradient>(3, 4, 1).add<accrue::sum_gradient>(0, 4, 4).update() == std::vector{0.3, 1.2});
}

TEST_CASE("a clip on the microbatch bounds its own sum under the sum objective") {
  accrue::clip_by_global_norm const clip{.max_norm = 2.5};
  run<accrue::sum_objective, accrue::clip_by_global_norm> run(clip);
  // The sum 2 * (3, 4) has norm 10 and is brought to 2.5; (0, 1) stays.
  CHECK(run.add<accrue::mean_gradient>(3, 4, 2).add<accrue::sum_gradient>(0, 1, 3).update() == std::vector{1.5, 3.0});
}

TEST_CASE("a clip by value on the microbatch bounds the elements of its own mean") {
  accrue::clip_by_value const clip{.max_value = 2.0};
  run<accrue::mean_objective, accrue::clip_by_value> run(clip);
  // (1 * (2, -2) + 3 * (1, -1)) / 4, the second given as a sum
  CHECK(run.add<accrue::mean_gradient>(8, -9, 1).add<accrue::sum_gradient>(3, -3, 3).update() ==
        std::vector{1.25, -1.25});
}

TEST_CASE("what is not finite in a microbatch is not clipped away") {
  run<accrue::mean_objective, accrue::clip_by_global_norm> by_norm({.max_norm = 1.0});
  CHECK(by_norm.add<accrue::mean_gradient>(std::numeric_limits<double>::infinity(), 1, 1).update().empty());
  run<accrue::mean_objective, accrue::clip_by_value> by_value({.max_value = 1.0});
  CHECK(by_value.add<accrue::mean_gradient>(not_a_number, 1, 1).update().empty());
}

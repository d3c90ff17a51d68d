// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/core/decision.hpp>
#include <accrue/finalize/clip_by_global_norm.hpp>
#include <accrue/finalize/clip_by_value.hpp>
#include <accrue/finalize/clip_policy.hpp>
#include <accrue/finalize/decide.hpp>
#include <accrue/finalize/last_group.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/finalize/objective.hpp>
#include <accrue/finalize/summarize.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

template class accrue::on_microbatch<accrue::clip_by_global_norm>;
template class accrue::on_microbatch<accrue::clip_by_value>;
template struct accrue::decide<accrue::no_clip>;
template struct accrue::decide<accrue::clip_by_global_norm>;

namespace {

using accrue::clip_by_global_norm;
using accrue::clip_by_value;
using accrue::microbatches;
using accrue::outcome;
using complex = Kokkos::complex<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class... Facts>
constexpr accrue::microbatch_facts facts_of(Facts... fact) {
  accrue::microbatch_facts facts;
  (facts.take(fact), ...);
  return facts;
}

// ---- normalization

constexpr auto everything = facts_of(accrue::samples{8}, accrue::tokens{512}, accrue::ignored_tokens{40},
                                     accrue::positions{552}, accrue::weight{0.5});
static_assert(accrue::per_sample::count(everything) == 8 && accrue::per_token::count(everything) == 512);
static_assert(accrue::per_microbatch::count(everything) == 1 && accrue::weighted::count(everything) == 0.5);
static_assert(accrue::per_microbatch::count(facts_of()) == 1);
static_assert(accrue::per_microbatch::count(facts_of(accrue::samples{0})) == 0);
static_assert(accrue::per_microbatch::count(facts_of(accrue::tokens{0}, accrue::samples{8})) == 0);
static_assert(accrue::per_microbatch::count(facts_of(accrue::ignored_tokens{0})) == 1);
static_assert(accrue::per_token::count(facts_of(accrue::samples{8})) == 0);

// ---- objective and last group

static_assert(accrue::mean_objective::divisor(2048.0) == 2048.0 && accrue::sum_objective::divisor(2048.0) == 1.0);
static_assert(accrue::pad_last::padded_weight(30.0, microbatches{3}, microbatches{8}) == 80.0);
static_assert(accrue::pad_last::padded_weight(30.0, microbatches{8}, microbatches{8}) == 30.0);
static_assert(accrue::pad_last::padded_weight(30.0, microbatches{9}, microbatches{8}) == 30.0);
static_assert(accrue::pads_weight<accrue::pad_last> && !accrue::pads_weight<accrue::keep_last>);

// ---- clip, the part that is arithmetic

static_assert(clip_by_global_norm{.max_norm = 2.0}.factor(8.0) == 0.25);
static_assert(clip_by_global_norm{.max_norm = 2.0}.factor(2.0) == 1.0);
static_assert(clip_by_global_norm{.max_norm = 2.0}.factor(0.0) == 1.0);
static_assert(clip_by_global_norm{.max_norm = infinity}.factor(1e300) == 1.0);
static_assert(clip_by_global_norm{.max_norm = 2.0, .epsilon = 2.0}.factor(2.0) ==
              0.5);  // within the bound, but for epsilon
static_assert(clip_by_global_norm{.max_norm = 2.0, .epsilon = 2.0}.factor(6.0) == 0.25);
static_assert(clip_by_global_norm{.order = 3.0}.norm_order() == 3.0);
static_assert(clip_by_global_norm{}.bounded(1e9f) == 1e9f);
static_assert(accrue::no_clip{}.factor(1e300) == 1.0 && accrue::no_clip{}.bounded(7.0) == 7.0);
static_assert(accrue::is_on_microbatch_v<accrue::on_microbatch<clip_by_value>> &&
              !accrue::is_on_microbatch_v<clip_by_value>);

template <class Policy>
std::string refusal(Policy const& p) {
  try {
    accrue::validate(p);
  } catch (accrue::error const& e) {
    std::string const text = e.what();
    return text.substr(0, text.find(';'));
  }
  return "none";
}

template <class Policy>
std::string printed(Policy const& p) {
  std::ostringstream out;
  accrue::print_policy(out, p);
  return out.str();
}

struct lone {
  static std::int64_t rank() { return 0; }
  static std::int64_t size() { return 1; }
  static void barrier() {}
};

/// What decide reads and writes, in memory that the host reads.
struct desk {
  accrue::norm_partial total;
  std::vector<std::uint8_t> touched{1, 0, 1};
  std::vector<std::int64_t> updates_of_view{10, 20, 30};
  accrue::decision verdict{};
  accrue::device_record record{};
  accrue::device_totals totals{};
  double largest = std::numeric_limits<double>::max();

  template <class Clip>
  void settle(Clip clip, double divisor, std::int64_t number, double const* device_loss = nullptr,
              double host_loss = 0.0, double loss_divisor = 1.0) {
    accrue::decide<Clip> const decide{&total,
                                      accrue::norm_order{clip.norm_order()},
                                      divisor,
                                      clip,
                                      largest,
                                      number,
                                      device_loss,
                                      host_loss,
                                      loss_divisor,
                                      touched.data(),
                                      updates_of_view.data(),
                                      3,
                                      &record,
                                      &totals};
    verdict = decide.settle();
    decide.enter_record(lone{});
  }
};

}  // namespace

TEST_CASE("clip_by_global_norm: bounds that make no sense are refused") {
  CHECK(refusal(clip_by_global_norm{}) == "none");
  CHECK(refusal(clip_by_global_norm{.max_norm = infinity}) == "none");
  for (double bound : {0.0, -1.0, not_a_number, -infinity})
    CHECK(refusal(clip_by_global_norm{.max_norm = bound}) == "accrue::clip_by_global_norm: max_norm is not above 0");
  CHECK(refusal(clip_by_global_norm{.order = 1.0}) == "none");
  CHECK(refusal(clip_by_global_norm{.order = infinity}) == "none");
  CHECK(refusal(clip_by_global_norm{.order = 512.0}) == "none");
  CHECK(refusal(clip_by_global_norm{.order = 513.0}) == "accrue::clip_by_global_norm: order is above 512 and finite");
  for (double order : {0.5, 0.0, -2.0, not_a_number})
    CHECK(refusal(clip_by_global_norm{.order = order}) == "accrue::clip_by_global_norm: order is below 1");
  CHECK(refusal(clip_by_global_norm{.epsilon = 1e-6}) == "none");
  for (double epsilon : {-1e-6, infinity, not_a_number})
    CHECK(refusal(clip_by_global_norm{.epsilon = epsilon}) ==
          "accrue::clip_by_global_norm: epsilon is negative or not finite");
}

TEST_CASE_TEMPLATE("clip_by_value: bounds each element on both sides, and leaves the others alone", T, float, double) {
  clip_by_value const clip{.max_value = 0.5};
  CHECK(clip.bounded(T(0.75)) == T(0.5));
  CHECK(clip.bounded(T(-8)) == T(-0.5));
  CHECK(clip.bounded(T(0.5)) == T(0.5));
  CHECK(clip.bounded(T(-0.25)) == T(-0.25));
  CHECK(clip_by_value{.max_value = infinity}.bounded(T(1e30)) == T(1e30));
  CHECK(std::isnan(clip.bounded(std::numeric_limits<T>::quiet_NaN())));
  CHECK(std::isinf(clip.bounded(std::numeric_limits<T>::infinity())));
}

TEST_CASE("clip_by_value: a complex number is bounded by its modulus, and keeps its phase") {
  clip_by_value const clip{.max_value = 2.5};
  CHECK(clip.bounded(complex(3.0, -4.0)) == complex(1.5, -2.0));
  CHECK(clip.bounded(complex(1.5, 2.0)) == complex(1.5, 2.0));
  CHECK(std::isnan(clip.bounded(complex(not_a_number, 9.0)).real()));
  CHECK(clip.bounded(complex(infinity, 1.0)).imag() == 1.0);
  Kokkos::complex<float> const long_one(3e38f, -3e38f);  // its modulus is no float
  CHECK(clip.bounded(long_one).real() == doctest::Approx(2.5 * std::sqrt(0.5)).epsilon(1e-6));
  CHECK(clip.bounded(long_one).imag() == doctest::Approx(-2.5 * std::sqrt(0.5)).epsilon(1e-6));
  complex const longer_one = clip_by_value{.max_value = 1.0}.bounded(complex(1.7e308, -1.7e308));  // and is no double
  CHECK(longer_one.real() == doctest::Approx(std::sqrt(0.5)));
  CHECK(longer_one.imag() == doctest::Approx(-std::sqrt(0.5)));
  CHECK(clip_by_value{.max_value = infinity}.bounded(complex(1.7e308, 1.7e308)).real() == 1.7e308);
  for (double bound : {0.0, -1.0, not_a_number})
    CHECK(refusal(clip_by_value{.max_value = bound}) == "accrue::clip_by_value: max_value is not above 0");
}

TEST_CASE("on_microbatch: prints and refuses as the clip that it holds") {
  accrue::on_microbatch const clip(clip_by_value{.max_value = 0.5});
  CHECK(printed(clip) == "on_microbatch{clip=clip_by_value{max_value=0.5}}");
  CHECK(refusal(accrue::on_microbatch(clip_by_value{.max_value = -1.0})) ==
        "accrue::clip_by_value: max_value is not above 0");
  CHECK(clip == accrue::on_microbatch(clip_by_value{.max_value = 0.5}));
  CHECK(clip != accrue::on_microbatch(clip_by_value{.max_value = 0.25}));
}

TEST_CASE("decide: a finite group is applied, clipped by the norm of its mean, and counted for what it touched") {
  desk d;
  d.total = {.sum = 25.0, .largest = 4.0};
  double const device_loss = 20.0;
  d.settle(clip_by_global_norm{.max_norm = 0.25}, 5.0, 7, &device_loss, 12.0, 8.0);
  CHECK(d.verdict.apply == 1);
  CHECK(d.verdict.divisor == 5.0);
  CHECK(d.verdict.norm == 1.0);
  CHECK(d.verdict.clip_factor == 0.25);  // the norm is 5 / 5
  CHECK(d.record.number == 7);
  CHECK(d.record.result == outcome::applied);
  CHECK(d.record.norm == 1.0);
  CHECK(d.record.clip_factor == 0.25);
  CHECK(d.record.loss == 4.0);  // (12 + 20) / 8
  CHECK(d.totals.applied == 1);
  CHECK(d.totals.skipped == 0);
  CHECK(d.updates_of_view == std::vector<std::int64_t>{11, 20, 31});
}

TEST_CASE("decide: a group that is not finite changes nothing but the totals of skips") {
  for (double bad : {not_a_number, infinity}) {
    desk d;
    d.totals = {.applied = 5, .skipped = 2, .consecutive_skips = 1};
    d.total = {.sum = bad, .largest = bad, .non_finite = 1};
    d.settle(clip_by_global_norm{.max_norm = 0.25}, 5.0, 7);
    CHECK(d.verdict.apply == 0);
    CHECK(d.record.result == outcome::skipped_non_finite);
    CHECK(!std::isfinite(d.record.norm));
    CHECK(d.record.clip_factor == 1.0);
    CHECK(d.totals.applied == 5);
    CHECK(d.totals.skipped == 3);
    CHECK(d.totals.consecutive_skips == 2);
    CHECK(d.updates_of_view == std::vector<std::int64_t>{10, 20, 30});

    d.total = {.sum = 9.0, .largest = 3.0};
    d.settle(accrue::no_clip{}, 3.0, 8);
    CHECK(d.record.norm == 1.0);
    CHECK(d.totals.consecutive_skips == 0);
    CHECK(d.totals.skipped == 3);
  }
}

TEST_CASE("decide: finite elements whose norm is not finite are skipped as well") {
  desk d;
  d.total = {.sum = 4.0, .largest = 1e308, .exponent = 1023};
  d.settle(accrue::no_clip{}, 1.0, 1);
  CHECK(d.verdict.apply == 0);
  d.settle(accrue::no_clip{}, 4.0, 2);  // their mean is in range
  CHECK(d.verdict.apply == 1);
  CHECK(d.record.norm == 0x1p1022);
}

TEST_CASE("decide: a gradient that is beyond the scalar of a buffer after clipping is skipped, with its norm") {
  double const most = std::numeric_limits<float>::max();
  desk d;
  d.largest = most;
  d.total = {.sum = 1e82, .largest = 1e41};
  d.settle(accrue::no_clip{}, 1.0, 1);
  CHECK(d.verdict.apply == 0);
  CHECK(d.record.result == outcome::skipped_non_finite);
  CHECK(d.record.norm == doctest::Approx(1e41));
  CHECK(d.record.clip_factor == 1.0);
  d.settle(clip_by_value{}, 1.0, 2);  // bounds what the buffer's scalar has made of it
  CHECK(d.verdict.apply == 0);
  d.settle(accrue::no_clip{}, 1e3, 3);
  CHECK(d.verdict.apply == 1);
  d.settle(clip_by_global_norm{.max_norm = 2.0}, 1.0, 4);
  CHECK(d.verdict.apply == 1);
  CHECK(d.record.clip_factor == doctest::Approx(2e-41));
  d.settle(clip_by_global_norm{.max_norm = 1e40}, 1.0, 5);
  CHECK(d.verdict.apply == 0);
  d.total = {.sum = most, .largest = most};
  d.settle(clip_by_global_norm{.max_norm = infinity, .order = 1.0}, 1.0, 6);
  CHECK(d.verdict.apply == 1);
  d.largest = std::numeric_limits<double>::max();
  d.total = {.sum = 1e82, .largest = 1e41};
  d.settle(accrue::no_clip{}, 1.0, 7);
  CHECK(d.verdict.apply == 1);
}

TEST_CASE("summarize: reads norm, largest modulus and finiteness of the quotient") {
  using exec = Kokkos::DefaultExecutionSpace;
  exec const instance;
  accrue::device_scalars<exec> const scalars(instance);
  using place = Kokkos::View<accrue::norm_partial, exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  place const total(&scalars.data()->total);
  auto const host = Kokkos::create_mirror_view(total);
  host() = {.sum = 25.0, .largest = 4.0};
  Kokkos::deep_copy(total, host);
  auto const found = accrue::summarize(instance, accrue::norm_order{2.0}, 2.0, scalars);
  CHECK(found.norm == 2.5);
  CHECK(found.largest == 2.0);
  CHECK(found.finite);

  host() = {.sum = infinity, .largest = infinity, .non_finite = 1};
  Kokkos::deep_copy(total, host);
  auto const bad = accrue::summarize(instance, accrue::norm_order{2.0}, 2.0, scalars);
  CHECK(!bad.finite);
  CHECK(bad.largest == infinity);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One foreign policy for each slot, with what its concept documents and nothing more: no name, no settings, no
// comparison, no default constructor. If these run, the concepts ask for enough.
#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace foreign {

/// Counts pairs of samples.
struct per_pair {
  using fills = accrue::slot::normalization;
  using needs = accrue::samples;
  using count_type = std::int64_t;
  explicit per_pair(int) {}
  static std::int64_t count(accrue::microbatch_facts const& facts) { return facts.samples.value() / 2; }
};

/// Counts positions, but the first four of a microbatch; a real number, and of nothing that must be given.
struct late_positions {
  using fills = accrue::slot::normalization;
  using needs = void;
  using count_type = double;
  explicit late_positions(int) {}
  static double count(accrue::microbatch_facts const& facts) {
    return static_cast<double>(facts.positions.value()) - 4.0;
  }
};

/// G = S / 2N.
struct half_of_the_mean {
  using fills = accrue::slot::objective;
  static constexpr bool own_is_mean = true;
  explicit half_of_the_mean(int) {}
  static double divisor(double weight) { return 2.0 * weight; }
};

/// Full from so many samples and tokens together; every microbatch must declare its tokens.
struct either_count {
  using fills = accrue::slot::boundary;
  using needs = accrue::tokens;
  explicit either_count(std::int64_t n) : enough(n) {}
  bool full(accrue::group_counts const& held) const { return held.samples.value() + held.tokens.value() >= enough; }
  std::int64_t enough;
};

/// A boundary that knows its microbatches, as padding needs it.
struct three_microbatches {
  using fills = accrue::slot::boundary;
  explicit three_microbatches(int) {}
  bool full(accrue::group_counts const& held) const { return held.microbatches.value() >= 3; }
  accrue::microbatches microbatches() const { return accrue::microbatches{3}; }
};

struct as_it_is {
  using fills = accrue::slot::last_group;
  static constexpr accrue::last_group_action action = accrue::last_group_action::update;
  explicit as_it_is(int) {}
};

/// Divides by a weight of its own: one more for each missing microbatch.
struct one_for_each_missing {
  using fills = accrue::slot::last_group;
  static constexpr accrue::last_group_action action = accrue::last_group_action::update;
  explicit one_for_each_missing(int) {}
  double padded_weight(double weight, accrue::microbatches held, accrue::microbatches full) const {
    return weight + static_cast<double>(full.value() - held.value());
  }
};

/// Halves a gradient whose 1-norm is above a bound.
struct halve_above {
  using fills = accrue::slot::clip;
  static constexpr bool by_norm = true;
  explicit halve_above(double b) : bound(b) {}
  double norm_order() const { return 1.0; }
  KOKKOS_FUNCTION double factor(double norm) const { return norm > bound ? 0.5 : 1.0; }
  template <class T>
  KOKKOS_FUNCTION T bounded(T const& element) const {
    return element;
  }
  double bound;
};

/// Leaves out what is below 0.
struct no_climbing {
  using fills = accrue::slot::clip;
  static constexpr bool by_norm = false;
  explicit no_climbing(int) {}
  double norm_order() const { return std::numeric_limits<double>::infinity(); }
  KOKKOS_FUNCTION double factor(double) const { return 1.0; }
  template <class T>
  KOKKOS_FUNCTION T bounded(T const& element) const {
    return element < T(0) ? T(0) : element;
  }
};

/// Sums everything in double.
struct in_double {
  using fills = accrue::slot::summation;
  explicit in_double(int) {}
  template <class Parameter>
  using buffer_scalar = std::conditional_t<accrue::is_complex_v<Parameter>, Kokkos::complex<double>, double>;
};

/// Divides the sums by a power of two while they grow: nothing is rounded when the divisor changes.
struct by_powers_of_two {
  using fills = accrue::slot::division;
  static constexpr bool keeps_sums = false;
  explicit by_powers_of_two(int) {}
  double divided_by(double weight) const { return weight > 0.0 ? std::exp2(std::floor(std::log2(weight))) : 1.0; }
};

/// theta -= (sum of all gradients so far) * (number of this update)
struct impatient {
  using fills = accrue::slot::update;
  explicit impatient(int) {}
  template <class Real>
  struct rule {
    Real number;
    template <class T, class State>
    KOKKOS_FUNCTION void operator()(T& theta, T const& gradient, State const& state) const {
      state[0] += gradient;
      theta -= number * state[0];
    }
  };
  int state_words() const { return 1; }
  template <class Real>
  KOKKOS_FUNCTION rule<Real> for_update(std::int64_t number) const {
    return {static_cast<Real>(number)};
  }
};

/// Adds up what it is shown, on the host.
struct on_the_host {
  using fills = accrue::slot::update;
  explicit on_the_host(std::vector<double>* to) : seen(to) {}
  accrue::keep_gradient device_part() const { return {}; }
  template <class Gradient>
  void call(Gradient const& gradient) const {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, gradient.template get<0>());
    seen->push_back(static_cast<double>(host(0)));
  }
  std::vector<double>* seen;
};

struct counts_records {
  void group_recorded(accrue::record const&) { ++*records; }
  int* records;
};

static_assert(accrue::normalization_policy<per_pair> && accrue::normalization_policy<late_positions>);
static_assert(accrue::objective_policy<half_of_the_mean>);
static_assert(accrue::boundary_policy<either_count> && accrue::boundary_policy<three_microbatches>);
static_assert(accrue::last_group_policy<as_it_is> && !accrue::pads_weight<as_it_is>);
static_assert(accrue::last_group_policy<one_for_each_missing> && accrue::pads_weight<one_for_each_missing>);
static_assert(accrue::clip_policy<halve_above> && accrue::clip_policy<no_climbing>);
static_assert(accrue::summation_policy<in_double>);
static_assert(accrue::division_policy<by_powers_of_two>);
static_assert(accrue::update_policy<impatient> && !accrue::host_update_policy<impatient>);
static_assert(accrue::host_update_policy<on_the_host> && !accrue::update_policy<on_the_host>);
static_assert(accrue::observer<counts_records>);

}  // namespace foreign

namespace {

using view = Kokkos::View<float*>;

view filled(std::vector<float> const& numbers) {
  view const made("gradient", numbers.size());
  auto const host = Kokkos::create_mirror_view(made);
  for (std::size_t i = 0; i < numbers.size(); ++i) host(i) = numbers[i];
  Kokkos::deep_copy(made, host);
  return made;
}

std::vector<float> values(view const& v) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, v);
  return {host.data(), host.data() + host.extent(0)};
}

}  // namespace

TEST_CASE("a recipe of foreign policies only runs, and every one of them is felt") {
  view const theta("theta", 2);
  accrue::accumulator group(accrue::parameters(theta), foreign::per_pair(0), foreign::half_of_the_mean(0),
                            foreign::either_count(10), foreign::as_it_is(0), foreign::halve_above(2.0),
                            foreign::in_double(0), foreign::impatient(0));
  int records = 0;
  group.observe(foreign::counts_records{&records});

  // 3 * (2^23 + 1) is no float, and the 1 that is left of the second elements would be 0 or 2 in a sum of floats.
  group.accumulate(accrue::mean_gradient{filled({2.0f, 8388609.0f})}, accrue::samples{6}, accrue::tokens{1});
  CHECK(!group.full());
  group.accumulate(accrue::mean_gradient{filled({5.0f, -25165826.0f})}, accrue::samples{2}, accrue::tokens{1});
  REQUIRE(group.full());  // 8 samples and 2 tokens
  // S = 3 * (2, ...) + 1 * (5, ...) = (11, 1); N = 4; G = S / 8 = (1.375, 0.125), whose 1-norm is within the bound.
  CHECK(group.update() == accrue::outcome::applied);
  CHECK(values(theta) == std::vector<float>{-1.375f, -0.125f});
  CHECK(group.ledger().records()[0].weight == 4.0);
  CHECK(group.ledger().records()[0].norm == 1.5);

  // The last group: G = 40 / (2 * 2), halved to 5; the state is 1.375 + 5, the number of the update 2.
  group.accumulate(accrue::sum_gradient{filled({40.0f, 0.0f})}, accrue::samples{4}, accrue::tokens{1});
  CHECK(group.end_of_data() == accrue::outcome::applied);
  CHECK(values(theta)[0] == -1.375f - 2.0f * 6.375f);
  CHECK(group.ledger().records()[1].clip_factor == 0.5);
  CHECK(records == 2);

  std::ostringstream out;
  out << group.policies();
  CHECK(out.str().find("user_policy, user_policy, ") == 0);
}

TEST_CASE("a foreign bound on elements, weight of its own and host update run together") {
  view const theta("theta", 2);
  std::vector<double> seen;
  accrue::accumulator group(accrue::parameters(theta), foreign::late_positions(0), foreign::three_microbatches(0),
                            foreign::one_for_each_missing(0), foreign::no_climbing(0), foreign::on_the_host(&seen));
  group.accumulate(accrue::mean_gradient{filled({6.0f, 1.0f})}, accrue::positions{6});
  CHECK(group.end_of_data() == accrue::outcome::applied);  // 2 * 6 / (2 + 2)
  group.accumulate(accrue::mean_gradient{filled({-6.0f, 1.0f})}, accrue::positions{6});
  group.accumulate(accrue::mean_gradient{filled({9.0f, 9.0f})}, accrue::positions{4});  // counts 0: ignored
  group.accumulate(accrue::mean_gradient{filled({-7.0f, 1.0f})}, accrue::positions{5});
  REQUIRE(group.full());
  CHECK(group.update() == accrue::outcome::applied);  // below 0
  CHECK(seen == std::vector<double>{3.0, 0.0});
  CHECK(group.ledger().records()[1].norm == 19.0 / 3.0);  // the infinity norm, of what was not bounded yet
  CHECK(values(theta) == std::vector<float>{0.0f, 0.0f});

  CHECK_THROWS_AS(group.accumulate(accrue::mean_gradient{filled({1.0f, 1.0f})}, accrue::positions{3}), accrue::error);
  CHECK(group.held() == accrue::microbatches{0});  // it counted less than nothing
}

TEST_CASE("a foreign division holds sums that late division does not") {
  view const theta("theta", 1);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, foreign::by_powers_of_two(0),
                            accrue::sgd{.learning_rate = 1.0});
  group.accumulate(accrue::mean_gradient{filled({0x1p100f})}, accrue::tokens{std::int64_t{1} << 40});
  group.accumulate(accrue::mean_gradient{filled({0x1p101f})}, accrue::tokens{std::int64_t{1} << 39});
  CHECK(group.measure().norm == 0x1p100 * 4.0 / 3.0);
  CHECK(group.update() == accrue::outcome::applied);
  CHECK(values(theta)[0] == -static_cast<float>(0x1p100 * 4.0 / 3.0));
}

TEST_CASE("a foreign clip bounds microbatches too") {
  view const theta("theta", 1);
  accrue::accumulator by_norm(accrue::parameters(theta), accrue::per_token{},
                              accrue::on_microbatch(foreign::halve_above(2.0)), accrue::sgd{.learning_rate = 1.0});
  by_norm.accumulate(accrue::mean_gradient{filled({3.0f})}, accrue::tokens{1});
  by_norm.accumulate(accrue::mean_gradient{filled({1.0f})}, accrue::tokens{3});
  CHECK(by_norm.update() == accrue::outcome::applied);
  CHECK(values(theta)[0] == -1.125f);  // (1 * 1.5 + 3 * 1) / 4

  Kokkos::deep_copy(theta, 0.0f);
  accrue::accumulator by_value(accrue::parameters(theta), accrue::per_token{},
                               accrue::on_microbatch(foreign::no_climbing(0)), accrue::sgd{.learning_rate = 1.0});
  by_value.accumulate(accrue::mean_gradient{filled({-3.0f})}, accrue::tokens{1});
  by_value.accumulate(accrue::mean_gradient{filled({1.0f})}, accrue::tokens{3});
  CHECK(by_value.update() == accrue::outcome::applied);
  CHECK(values(theta)[0] == -0.75f);
}

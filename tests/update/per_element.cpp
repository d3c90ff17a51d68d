// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "values.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <concepts>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

/// Moves by the rate against the sign of the gradient.
struct by_sign {
  double rate;
  template <class T>
  KOKKOS_FUNCTION void operator()(T& theta, T const& gradient) const {
    theta -= static_cast<T>(gradient > 0 ? rate : -rate);
  }
};

/// Says how often it was called for an element, and what the gradients before added up to.
struct remembers {
  template <class T, class State>
  KOKKOS_FUNCTION void operator()(T& theta, T const& gradient, State const& state) const {
    state[0] += 1;
    theta = 100 * state[0] + state[1];
    state[1] += gradient;
  }
};

/// Takes a parameter in the scalar of the buffer, and nothing else.
struct in_float {
  KOKKOS_FUNCTION void operator()(float& theta, float gradient) const { theta = theta + 0.5f * gradient; }
  void operator()(accrue::bfloat16&, accrue::bfloat16) const = delete;
};

struct conjugates {
  template <class Complex>
  KOKKOS_FUNCTION void operator()(Complex& theta, Complex const& gradient) const {
    theta = Complex(gradient.real(), -gradient.imag());
  }
};

/// Cannot be copied where a limit is reached.
struct copied_at_most {
  explicit copied_at_most(int n) : left(n) {}
  copied_at_most(copied_at_most const& other) : left(other.left - 1) {
    if (left < 0) throw 0;
  }
  copied_at_most(copied_at_most&& other) noexcept : left(other.left) {}
  int left;
};

/// Writes down its copies; moves are free.
struct counts_copies {
  explicit counts_copies(int* n) : copies(n) {}
  counts_copies(counts_copies const& other) : copies(other.copies) { ++*copies; }
  counts_copies(counts_copies&& other) noexcept : copies(other.copies) {}
  template <class T>
  KOKKOS_FUNCTION void operator()(T& theta, T const& gradient) const {
    theta -= gradient;
  }
  int* copies;
};

}  // namespace

TEST_CASE("a function that cannot be copied leaves the old one in place") {
  copied_at_most old(5);
  accrue::detail::replace(old, copied_at_most(3));
  CHECK(old.left == 2);
  CHECK_THROWS_AS(accrue::detail::replace(old, copied_at_most(0)), int);
  CHECK(old.left == 2);
  accrue::detail::replace(old, old);
  CHECK(old.left == 1);
}

TEST_CASE("a function is moved where its policy or its accumulator is, not copied") {
  int copies = 0;
  accrue::per_element rule{counts_copies(&copies)};
  accrue::per_element other{counts_copies(&copies)};
  accrue::per_element moved = std::move(rule);
  moved = std::move(other);
  CHECK(copies == 0);

  accrue::accumulator group(accrue::parameters(filled<double>({1})), accrue::per_sample{}, std::move(moved));
  accrue::accumulator another(accrue::parameters(filled<double>({1})), accrue::per_sample{},
                              accrue::per_element{counts_copies(&copies)});
  copies = 0;  // a recipe takes its policies by reference
  auto held = std::move(group);
  held = std::move(another);
  CHECK(copies == 0);
}

TEST_CASE("a rule of one's own gets every element with the finalized gradient") {
  auto const theta = filled<double>({1, 2, 3}), gradient = filled<double>({-6, 2, 60});
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::clip_by_value{.max_value = 8.0},
                            accrue::per_element(KOKKOS_LAMBDA(double& t, double g) { t += 1000 * g; }));
  group.accumulate(accrue::sum_gradient{gradient}, accrue::samples{2});
  REQUIRE(group.update() == accrue::outcome::applied);
  CHECK(values(theta) == std::vector<double>{-2999, 1002, 8003});  // divided by 2, and the last one clipped
}

TEST_CASE("a rule of one's own may be a template, and serves parameters of different scalars") {
  auto const a = filled<float>({1}), a_gradient = filled<float>({3});
  auto const b = filled<double>({1}), b_gradient = filled<double>({-3});
  accrue::accumulator group(accrue::parameters(a, b), accrue::per_sample{}, accrue::per_element(by_sign{0.25}));
  group.accumulate(accrue::mean_gradient{a_gradient, b_gradient}, accrue::samples{1});
  group.update();
  CHECK(values(a) == std::vector<float>{0.75f});
  CHECK(values(b) == std::vector<double>{1.25});
  group.change_rule(accrue::per_element(by_sign{0.5}));
  group.accumulate(accrue::mean_gradient{a_gradient, accrue::no_gradient}, accrue::samples{1});
  group.update();
  CHECK(values(a) == std::vector<float>{0.25f});
  CHECK(values(b) == std::vector<double>{1.25});
}

TEST_CASE("state begins at zero, belongs to its element, and rests when the parameter is passed over") {
  auto const a = filled<double>({0, 0}), b = filled<double>({0}), bad = filled<double>({not_a_number});
  auto const a_gradient = filled<double>({1, 2}), b_gradient = filled<double>({5});
  accrue::accumulator group(accrue::parameters(a, b), accrue::per_sample{}, accrue::per_element(remembers{}, 2));
  auto const update = [&](auto const& to_b) {
    group.accumulate(accrue::mean_gradient{a_gradient, to_b}, accrue::samples{1});
    group.update();
  };
  update(b_gradient);
  CHECK(values(a) == std::vector<double>{100, 100});
  CHECK(values(b) == std::vector<double>{100});
  update(bad);  // skipped
  update(accrue::no_gradient);
  CHECK(values(a) == std::vector<double>{201, 202});
  CHECK(values(b) == std::vector<double>{100});
  update(b_gradient);
  CHECK(values(a) == std::vector<double>{302, 304});
  CHECK(values(b) == std::vector<double>{205});
}

TEST_CASE("a rule sees a 16-bit parameter as float, and what it leaves is rounded once") {
  auto const theta = filled<accrue::bfloat16>({accrue::bfloat16(1.0f)});
  auto const gradient = filled<float>({0x1p-7f * (1 + 0x1p-11f)});  // half of it is more than half a unit of 1
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::per_element(in_float{}));
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
  group.update();
  CHECK(float(values(theta)[0]) == 1 + 0x1p-7f);
}

TEST_CASE("a rule sees a complex parameter whole") {
  using complex = Kokkos::complex<double>;
  auto const theta = filled<complex>({{0, 0}}), gradient = filled<complex>({{3, 4}});
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::per_element(conjugates{}));
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
  group.update();
  CHECK(values(theta)[0] == complex(3, -4));
}

TEST_CASE("a negative number of state words is refused") {
  CHECK_THROWS_AS(accrue::per_element(remembers{}, -1), accrue::error);
}

TEST_CASE("rules of functions without data, or with ==, are compared, and so are recipes") {
  accrue::per_element const one(remembers{}, 1), same(remembers{}, 1), more(remembers{}, 2);
  CHECK(one == same);
  CHECK(one != more);
  auto const no_data = [](auto const&) {};
  CHECK(accrue::with_gradient(no_data) == accrue::with_gradient(no_data));
  double factor = 2.0;
  auto const with_data = [factor](double& theta, double g) { theta -= factor * g; };
  static_assert(!std::equality_comparable<accrue::per_element<decltype(with_data)>>);

  accrue::recipe const small(accrue::per_token{}, accrue::every{4}, accrue::sgd{.learning_rate = 0.1});
  accrue::recipe const large(accrue::per_token{}, accrue::every{8}, accrue::sgd{.learning_rate = 0.1});
  CHECK(small == accrue::recipe(accrue::per_token{}, accrue::every{4}, accrue::sgd{.learning_rate = 0.1}));
  CHECK(small != large);
}

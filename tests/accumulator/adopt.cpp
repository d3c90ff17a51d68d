// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A first gradient that is given away becomes the sums, and changes nothing but the passes over memory.
#include "support/host.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using accrue::error;
using accrue::mean_gradient;
using accrue::outcome;
using accrue::sum_gradient;
using accrue::tokens;
using array = Kokkos::View<float*>;
using matrix = Kokkos::View<double**, Kokkos::LayoutLeft>;
using support::values;
using gradients = mean_gradient<array, matrix>;

gradients produced(int microbatch, array a = array("gradient", 1003), matrix b = matrix("gradient", 5, 7)) {
  std::vector<float> of_a;
  std::vector<double> of_b;
  for (int i = 0; i < 1003; ++i) of_a.push_back(std::sin(1.0f + static_cast<float>(i * (microbatch + 1))));
  for (int i = 0; i < 35; ++i) of_b.push_back(std::cos(2.0 + i * (microbatch + 1)));
  support::fill(a, of_a), support::fill(b, of_b);
  return gradients{std::move(a), std::move(b)};
}

struct result {
  std::vector<float> a;
  std::vector<double> b;
  std::vector<double> norms;
  friend bool operator==(result const&, result const&) = default;
};

/// Four groups of three microbatches and one of two, of unequal counts.
template <class... Policies>
result trained(bool adopts, Policies... policies) {
  array const a("a", 1003);
  matrix const b("b", 5, 7);
  accrue::accumulator group(accrue::parameters(a, b), accrue::per_token{}, accrue::every{3}, accrue::keep_last{},
                            policies...);
  std::optional<gradients> spare;
  for (int m = 0; m < 14; ++m) {
    if (adopts && m % 3 == 0) {
      auto given = spare ? produced(m, std::get<0>(spare->items), std::get<1>(spare->items)) : produced(m);
      spare.reset();
      spare = group.adopt(std::move(given), tokens{100 + 37 * m});
      CHECK(spare.has_value() == (m > 0));
    } else {
      group.accumulate(produced(m), tokens{100 + 37 * m});
    }
    if (group.full()) group.update();
  }
  group.end_of_data();
  result all{values(a), values(b), {}};
  for (accrue::record const& each : group.ledger().records()) all.norms.push_back(each.norm);
  return all;
}

void compare(result const& adopted, result const& added) {
  for (std::size_t i = 0; i < added.a.size(); ++i) CHECK(adopted.a[i] == doctest::Approx(added.a[i]).epsilon(1e-5));
  for (std::size_t i = 0; i < added.b.size(); ++i) CHECK(adopted.b[i] == doctest::Approx(added.b[i]).epsilon(1e-12));
  for (std::size_t i = 0; i < added.norms.size(); ++i)
    CHECK(adopted.norms[i] == doctest::Approx(added.norms[i]).epsilon(1e-6));
}

}  // namespace

TEST_CASE("adopt: the sums are those of a first microbatch that is added, and memory comes back to be written again") {
  accrue::clip_by_global_norm const clip{.max_norm = 5.0};
  compare(trained(true, clip, accrue::adamw{.learning_rate = 0.1}),
          trained(false, clip, accrue::adamw{.learning_rate = 0.1}));
  compare(trained(true, clip, accrue::momentum{}, accrue::gather<2>{}),
          trained(false, clip, accrue::momentum{}, accrue::gather<2>{}));
}

TEST_CASE(
    "adopt: a group of one microbatch, a function of the gradient, a look, and rows see the sums where they are") {
  array const theta("theta", 4);
  Kokkos::View<int*> const index("index", 1);
  array const row("row", 1);
  Kokkos::deep_copy(row, 12.0f);
  std::vector<float> seen;
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{},
                            accrue::with_gradient([&](auto const& g) { seen = values(g.template get<0>()); }));
  for (int turn = 0; turn < 3; ++turn) {
    array gradient("gradient", 4);
    Kokkos::deep_copy(gradient, 3.0f);
    auto const before = group.adopt(mean_gradient{std::move(gradient)}, tokens{8});
    if (before) CHECK(values(std::get<0>(before->items))[3] == (turn == 1 ? 3.0f : 2.0f));  // finished in place
    CHECK(values(group.template snapshot<0>()) == std::vector<float>(4, 3.0f));
    CHECK(group.measure().norm == 6.0);
    if (turn > 0) group.accumulate(mean_gradient{accrue::rows(index, row)}, tokens{4});
    CHECK(group.update() == outcome::applied);
    CHECK(seen == (turn > 0 ? std::vector<float>{6.0f, 2.0f, 2.0f, 2.0f} : std::vector<float>(4, 3.0f)));
    array plain("gradient", 4);  // the next group adds as ever
    Kokkos::deep_copy(plain, 5.0f);
    group.accumulate(mean_gradient{plain}, tokens{1});
    group.update();
    CHECK(seen == std::vector<float>(4, 5.0f));
    CHECK(values(plain)[0] == 5.0f);
  }
}

TEST_CASE("adopt: what is not adoptable is refused, stays the caller's, and has changed nothing") {
  array const theta("theta", 4), other("theta", 2);
  accrue::accumulator group(accrue::parameters(theta, std::vector<array>{other}), accrue::per_token{}, accrue::sgd{});
  auto const refused = [&](auto given) {
    std::string text;
    try {
      group.adopt(std::move(given), tokens{1});
    } catch (error const& e) {
      text = e.what();
    }
    CHECK(group.held().value() == 0);
    CHECK(std::get<0>(given.items).data() != nullptr);
    return text;
  };
  auto const of_other = [] { return std::vector<array>{array("gradient", 2)}; };
  array const shared("gradient", 4);
  CHECK(refused(mean_gradient{shared, of_other()}).find("that others hold as well") != std::string::npos);
  Kokkos::View<float*, Kokkos::MemoryUnmanaged> const unmanaged(shared.data(), 4);
  CHECK(refused(mean_gradient{unmanaged, of_other()}).find("that is not managed") != std::string::npos);
  CHECK(refused(mean_gradient{Kokkos::View<accrue::bfloat16*>("gradient", 4), of_other()}).find("scalar or layout") !=
        std::string::npos);
  CHECK(refused(mean_gradient{array("gradient", 5), of_other()}).find("extents") != std::string::npos);
  std::vector<array> twice{array("gradient", 2)};
  std::vector<array> const kept = twice;
  CHECK(refused(sum_gradient{array("gradient", 4), std::move(twice)}).find("that others hold") != std::string::npos);

  group.accumulate(mean_gradient{array("gradient", 4), accrue::no_gradient}, tokens{1});
  CHECK_THROWS_AS(group.adopt(mean_gradient{array("gradient", 4), of_other()}, tokens{1}), error);
  CHECK(group.held().value() == 1);
  group.discard();
  auto const ignored = group.adopt(mean_gradient{array("gradient", 4), accrue::no_gradient}, tokens{0});
  CHECK(ignored.has_value());  // it weighs nothing, and comes back at once
  CHECK(group.held().value() == 1);
}

TEST_CASE("adopt: an observer that throws does not take the sums away") {
  struct breaks {
    void microbatch_accumulated(accrue::group_counts const&) { throw std::runtime_error("stop"); }
  };
  array const theta("theta", 4);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{.learning_rate = 1.0});
  group.observe(breaks{});
  array gradient("gradient", 4);
  Kokkos::deep_copy(gradient, 2.0f);
  mean_gradient given{std::move(gradient)};
  CHECK_THROWS_AS(group.adopt(std::move(given), tokens{1}), std::runtime_error);
  CHECK(group.held().value() == 1);
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>(4, -2.0f));
}

TEST_CASE("adopt: a gradient that is not finite skips its group, and an untouched parameter is passed over") {
  array const theta("theta", 4), other("other", 2);
  accrue::accumulator group(accrue::parameters(theta, other), accrue::per_token{}, accrue::sgd{.learning_rate = 1.0});
  array bad("gradient", 4), good("gradient", 4);
  Kokkos::deep_copy(bad, std::numeric_limits<float>::quiet_NaN()), Kokkos::deep_copy(good, 1.0f);
  group.adopt(mean_gradient{std::move(bad), accrue::no_gradient}, tokens{1});
  CHECK(group.update() == outcome::skipped_non_finite);
  auto const back = group.adopt(mean_gradient{std::move(good), accrue::no_gradient}, tokens{7});
  CHECK(std::isnan(values(std::get<0>(back->items))[0]));
  CHECK(group.update() == outcome::applied);
  CHECK(values(theta) == std::vector<float>(4, -1.0f));
  CHECK(values(other) == std::vector<float>(2, 0.0f));
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What belongs to which parameter: P-048, P-088, P-093.
#include "support/host.hpp"

#include <accrue/accumulator.hpp>
#include <accrue/finalize/normalization.hpp>
#include <accrue/update/sgd.hpp>
#include <accrue/update/with_gradient.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <vector>

using accrue::mean_gradient;
using support::make_view;
using support::taken;
using support::values;

namespace {

constexpr accrue::sgd whole_gradient{.learning_rate = 1.0};

template <class... Views>
auto averaged(accrue::sgd rule, Views... theta) {
  return accrue::accumulator(accrue::parameters(theta...), accrue::per_microbatch{}, rule);
}

/// Writes down which parameters a group touched.
struct note_touched {
  std::vector<bool>* touched;
  template <class Gradient>
  void operator()(Gradient const& gradient) const {
    *touched = {gradient.touched(0), gradient.touched(1)};
  }
};

}  // namespace

TEST_CASE("P-048 one storage under two names is refused") {
  auto const shared = make_view<float>({1, 2, 3});
  CHECK_THROWS_AS(averaged(whole_gradient, shared, shared), accrue::error);  // counted twice: norm 7.07, updated twice
  auto const part = Kokkos::subview(shared, Kokkos::make_pair(2, 3));
  CHECK_THROWS_AS(averaged(whole_gradient, shared, Kokkos::View<float*>(part)), accrue::error);
}

TEST_CASE("P-088 a gradient of another shape is refused, and nothing has changed") {
  Kokkos::View<float*> theta("theta", 3);
  auto group = averaged(whole_gradient, theta);
  group.accumulate(mean_gradient{make_view<float>({1, 2, 3})}, accrue::samples{1});
  auto const refused = [&](auto gradient) {
    CHECK_THROWS_AS(group.accumulate(mean_gradient{gradient}, accrue::samples{1}), accrue::error);
    CHECK(group.held() == accrue::microbatches{1});
    CHECK(group.ledger().microbatches() == accrue::microbatches{1});
    CHECK(group.ledger().samples() == accrue::samples{1});
    CHECK(values(group.snapshot<0>()) == std::vector<float>{1, 2, 3});
  };
  refused(Kokkos::View<float*>("short", 2));
  refused(Kokkos::View<float*>("long", 4));  // cut off, or written out of bounds
  group.update();
  CHECK(taken(theta) == std::vector<float>{1, 2, 3});
}

TEST_CASE("P-093 untouched is not the same as zero") {
  auto const p1 = make_view<float>({1}), p2 = make_view<float>({1});
  std::vector<bool> touched;
  accrue::accumulator noting(accrue::parameters(p1, p2), accrue::per_microbatch{},
                             accrue::with_gradient{note_touched{&touched}});
  auto decaying = averaged(accrue::sgd{.learning_rate = 1.0, .weight_decay = 0.1}, p1, p2);
  for (float const gradient : {1.0f, 3.0f}) {
    noting.accumulate(mean_gradient{make_view<float>({gradient}), accrue::no_gradient});
    decaying.accumulate(mean_gradient{make_view<float>({gradient}), accrue::no_gradient});
  }
  noting.update();
  decaying.update();
  CHECK(touched == std::vector<bool>{true, false});
  CHECK(values(p1)[0] == support::about<float>(1.0 - (2.0 + 0.1)));
  CHECK(values(p2) == std::vector<float>{1});  // decayed without a gradient: 0.9

  noting.accumulate(mean_gradient{make_view<float>({2}), make_view<float>({0})});
  decaying.accumulate(mean_gradient{make_view<float>({2}), make_view<float>({0})});
  noting.update();
  decaying.update();
  CHECK(touched == std::vector<bool>{true, true});
  CHECK(values(p2)[0] == support::about<float>(0.9));
}

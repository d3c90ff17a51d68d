// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accumulators under examination, what updates and ledgers say of themselves, and views of every kind.
#include <accrue/counter_check.hpp>
#include <accrue/doctor/examine_loop.hpp>
#include <accrue/doctor/update_watch.hpp>

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

#include "models.hpp"
#include "support/host.hpp"

using accrue::microbatches;
using accrue::outcome;
using accrue::doctor::diagnosis;
using accrue::doctor::mean_over;
using accrue::doctor::update_watch;
using accrue::plan::passes;
using models::examples;
using models::kind;
using models::model;

namespace {

using found = std::vector<diagnosis>;

/// An accumulator that is asked for one group, as the doctor wants it.
template <class Normalization>
accrue::doctor::gradient accumulated(model<float>& of, accrue::doctor::group const& group, Normalization per) {
  accrue::doctor::gradient handed_over;
  accrue::accumulator sums(
      Kokkos::DefaultHostExecutionSpace{}, accrue::parameters(of.parameters), per, accrue::constant_scale{.scale = 256},
      accrue::clip_by_global_norm{.max_norm = group.max_norm}, accrue::with_gradient([&](auto const& finished) {
        handed_over = accrue::doctor::gradient(finished.template get<0>());
      }));
  for (examples const& each : group.microbatches) {
    of.write(of.sum_gradient(each), 256 / static_cast<float>(of.tokens(each)));
    sums.accumulate(accrue::mean_gradient{of.gradient}, accrue::tokens{of.tokens(each)});
  }
  CHECK(sums.update() == outcome::applied);
  return handed_over;
}

}  // namespace

TEST_CASE("an accumulator per token is healthy, and one per microbatch is a mean of means") {
  accrue::doctor::loop_terms const terms{
      .mean = mean_over::tokens, .microbatches = 4, .loss_scale = 256, .takes_bound = true};
  for (kind const which : {kind::linear, kind::perceptron, kind::language}) {
    model<float> of(which, 24, 3);
    auto const examined = [&](auto per) {
      return accrue::doctor::examine_loop(
          accrue::parameters(of.parameters), [&](examples const& list) { return of.mean(list); },
          [&](accrue::doctor::group const& group) { return accumulated(of, group, per); }, accrue::samples{24}, terms);
    };
    CHECK(examined(accrue::per_token{}).diagnoses() == found{});
    CHECK(examined(accrue::per_microbatch{}).diagnoses() == found{diagnosis::mean_of_means});
  }
}

TEST_CASE("update_watch: what an update did is what it said") {
  auto const theta = support::make_view<float>({1, -2, 3});
  auto const gradient = support::make_view<float>({0.5f, 0.25f, -1});
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::every{1}, accrue::keep_last{},
                            accrue::sgd{.learning_rate = 0.1});
  update_watch watch(accrue::parameters(theta));
  auto const one = [&] {
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{4});
    return group.update().result();
  };
  accrue::doctor::gradient const received(gradient);
  CHECK(watch.after(one()).healthy());
  CHECK(watch.after(one(), received, 0.1).healthy());
  CHECK(watch.after(one(), received, 0.2).diagnoses() == found{diagnosis::moved_otherwise});
  CHECK(watch.after(outcome::applied, received).diagnoses() == found{diagnosis::nothing_moved});
  CHECK(watch.after(outcome::skipped_non_finite).healthy());

  Kokkos::deep_copy(gradient, support::not_a_number<float>);
  CHECK(watch.after(one()).healthy());  // skipped, and nothing moved
  support::fill(theta, {1, -2, 4});
  CHECK(watch.after(outcome::vetoed).diagnoses() == found{diagnosis::moved_without_update});
  support::fill(theta, {1, support::infinite<float>, 4});
  CHECK(watch.after(outcome::applied).diagnoses() == found{diagnosis::parameters_not_finite});
  Kokkos::deep_copy(gradient, 0.0f);
  CHECK(watch.after(outcome::applied, accrue::doctor::gradient(gradient)).healthy());  // nothing to move by
}

TEST_CASE("check_counters: totals and groups of a run are those of its plan, or are named") {
  Kokkos::View<float*> const theta("theta", 2), gradient("gradient", 2);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::every{3}, accrue::keep_last{},
                            accrue::sgd{});
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < 8; ++i) {
      group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{2});
      if (group.full()) group.update();
    }
    group.end_of_data();
  }
  auto const against = [&](accrue::doctor::planned_run const& meant) {
    return accrue::doctor::check_counters(group.ledger(), meant).diagnoses();
  };
  accrue::plan::data_pass const pass{microbatches{8}, microbatches{3}};
  CHECK(against({passes{2}, pass}) == found{});
  CHECK(against({passes{1}, pass}) == found{diagnosis::counters_differ});
  CHECK(against({passes{2}, {microbatches{8}, microbatches{4}}}) ==
        found{diagnosis::counters_differ, diagnosis::boundary_differs});
  CHECK(against({passes{2}, pass, accrue::plan::last_group::drop}) == found{diagnosis::counters_differ});
  CHECK(against({passes{1}, {microbatches{16}, microbatches{3}}}) == found{diagnosis::boundary_differs});
}

namespace {

/// A model of tensors of any kind: its loss is half the squared distance of everything to each example's number, its
/// mean gradient the distance to their mean.
template <class Matrix, class Gradient>
found examined_with(Matrix const& theta, Gradient const& gradient, bool with_optional) {
  using scalar = typename Matrix::non_const_value_type;
  using stored = typename Gradient::non_const_value_type;
  Kokkos::View<scalar*> const unused("unused", 3);
  auto const function = [&](examples const& list) {
    auto values = support::values(theta);
    double mean = 0;
    for (auto const e : list) mean += std::sin(static_cast<double>(e)) / static_cast<double>(list.size());
    for (auto& value : values) value -= static_cast<accrue::real_t<scalar>>(mean);
    support::value_list<Gradient> narrowed;
    for (auto const& value : values) narrowed.push_back(accrue::widen(accrue::narrow<stored>(value)));
    support::fill(gradient, narrowed);
    using optional = std::optional<Kokkos::View<scalar*>>;
    if (with_optional)
      return accrue::doctor::microbatch(accrue::mean_gradient{gradient, optional()}, accrue::samples{list.size()});
    return accrue::doctor::microbatch(accrue::mean_gradient{gradient, accrue::no_gradient},
                                      accrue::samples{list.size()});
  };
  auto const before = support::values(theta);
  auto const result = accrue::doctor::examine(accrue::parameters(theta, unused), function, accrue::samples{9});
  CHECK(support::values(theta) == before);
  return result.diagnoses();
}

}  // namespace

TEST_CASE("views of any rank, layout and scalar are examined, with parameters that have no gradient") {
  Kokkos::View<float**, Kokkos::LayoutRight> const right("right", 2, 3);
  Kokkos::View<float**, Kokkos::LayoutLeft> const left("left", 2, 3);
  support::fill(right, {1, 2, 3, 4, 5, 6});
  CHECK(examined_with(right, left, false) == found{});
  Kokkos::View<double***> const cube("cube", 3, 2, 2);
  auto const part = Kokkos::subview(cube, Kokkos::pair<int, int>(0, 2), Kokkos::ALL, 1);
  support::fill(part, {1, -2, 3, -4});
  Kokkos::View<double**> const square("square", 2, 2);
  CHECK(examined_with(part, square, true) == found{});
  Kokkos::View<accrue::bfloat16**> const brain("brain", 2, 3);
  CHECK(examined_with(right, brain, false) == found{});
  Kokkos::View<Kokkos::complex<float>*> const theta("theta", 2), wave("wave", 2);
  support::fill(theta, {{1, 2}, {-1, 3}});
  CHECK(examined_with(theta, wave, false) == found{});
}

TEST_CASE("bad questions are refused in one sentence") {
  Kokkos::View<float*> const theta("theta", 2), other("other", 3);
  auto const ask = [&](auto const& gradient, int count) {
    return accrue::doctor::examine(
        accrue::parameters(theta),
        [&](examples const& list) {
          return accrue::doctor::microbatch(accrue::mean_gradient{gradient}, accrue::samples{list.size()});
        },
        accrue::samples{count});
  };
  CHECK_THROWS_WITH_AS(
      static_cast<void>(ask(theta, 3)),
      "accrue::doctor: 3 examples; microbatches of several sizes are cut from them; give at least 4, of "
      "different counts where counts differ",
      accrue::error);
  CHECK_THROWS_WITH_AS(static_cast<void>(ask(other, 8)),
                       "accrue::doctor: the gradient of parameter 0 ('theta') has 3 numbers, the parameter 2; they are "
                       "compared one by one; hand over a gradient of the parameter's shape",
                       accrue::error);
}

TEST_CASE("a report prints what was seen, why it is a mistake, and the way out") {
  accrue::doctor::report report;
  std::ostringstream healthy, text;
  healthy << report;
  CHECK(healthy.str() == "healthy");
  report.add({diagnosis::not_clipped, "group 3 differs"});
  report.note("so far");
  text << report;
  CHECK(text.str() ==
        "found\n\nnot_clipped\n  saw: group 3 differs\n  why: the gradient is longer than its bound\n"
        "  way out: clip it before the update\n\nnote: so far");
}

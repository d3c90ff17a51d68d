// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each mistake is planted in a loop or in a backward pass, and must be named, as that and as nothing else; what is
// right is never called wrong, in a thousand random configurations of models, groups, scalars, scales and bounds.
#include <accrue/doctor/examine_loop.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "models.hpp"

using namespace models;
using accrue::doctor::loop_terms;
using accrue::doctor::report;

namespace doctest {
template <>
struct StringMaker<std::vector<diagnosis>> {
  static String convert(std::vector<diagnosis> const& list) {
    std::ostringstream out;
    for (diagnosis const each : list) out << each << ' ';
    return out.str().c_str();
  }
};
}  // namespace doctest

namespace {

/// Three different numbers, so that no two factors are the same.
loop_terms const two_replicas_scaled{
    .mean = mean_over::tokens, .microbatches = 3, .replicas = 2, .loss_scale = 1024, .takes_bound = true};

template <class T>
report examined(model<T>& of, loop_terms const& terms, std::vector<diagnosis> const& mistakes, int way = 0) {
  loop<T> const wrong(of, terms, mistakes, way);
  return accrue::doctor::examine_loop(
      accrue::parameters(of.parameters), [&](examples const& list) { return of.mean(list, {}, terms.mean); }, wrong,
      accrue::samples{of.count()}, terms);
}

/// Terms that a seed gives.
loop_terms terms_at_random(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  loop_terms terms;
  terms.mean = random() % 3 == 0 ? mean_over::samples : mean_over::tokens;
  terms.microbatches = 1 + static_cast<std::int64_t>(random() % 5);
  terms.replicas = 1 + static_cast<int>(random() % 3);
  terms.loss_scale = random() % 2 == 0 ? 1.0 : std::exp2(static_cast<double>(random() % 17));
  terms.takes_bound = random() % 3 == 0;
  if (random() % 3 == 0) terms.max_norm = std::exp2(static_cast<double>(random() % 12) - 8);
  terms.seed = random();
  return terms;
}
/// What is found in a loop over a model at random.
template <class T>
report found_at_random(std::uint64_t seed, loop_terms const& terms, std::vector<diagnosis> const& mistakes,
                       int way = 0) {
  std::mt19937_64 random(seed);
  auto const least = std::max<std::size_t>(4, 2 * static_cast<std::size_t>(terms.microbatches * terms.replicas));
  double const spread = std::exp2(static_cast<double>(random() % 7) - 4);
  model<T> of(static_cast<kind>(random() % 3), least + random() % 12, random(), spread);
  return examined(of, terms, mistakes, way);
}

struct planted {
  diagnosis mistake;
  int ways = 1;
};
constexpr planted in_loops[] = {{diagnosis::mean_of_means},
                                {diagnosis::mean_of_replica_means},
                                {diagnosis::ignored_positions_counted, 2},
                                {diagnosis::other_unit},
                                {diagnosis::divided_twice, 2},
                                {diagnosis::not_divided, 2},
                                {diagnosis::last_group_divided_by_full},
                                {diagnosis::not_cleared_between_groups, 3},
                                {diagnosis::cleared_after_every_microbatch, 2},
                                {diagnosis::clipped_per_microbatch, 3},
                                {diagnosis::clipped_per_replica},
                                {diagnosis::clipped_before_division, 3},
                                {diagnosis::clipped_before_unscaling},
                                {diagnosis::not_clipped},
                                {diagnosis::never_unscaled},
                                {diagnosis::unscaled_twice, 2},
                                {diagnosis::world_size_missing},
                                {diagnosis::world_size_twice},
                                {diagnosis::parameters_changed},
                                {diagnosis::random},
                                {diagnosis::unexplained},
                                {diagnosis::not_finite}};

}  // namespace

TEST_CASE_TEMPLATE("each mistake of a loop is named, and nothing else is", T, float, double) {
  for (kind const which : {kind::linear, kind::perceptron, kind::language})
    for (planted const& each : in_loops)
      for (int way = 0; way < each.ways; ++way) {
        CAPTURE(models::name_of(which));
        CAPTURE(accrue::doctor::name_of(each.mistake));
        CAPTURE(way);
        model<T> of(which, 30, 11);
        auto const before = of.parameters.front()(0);
        report const found = examined(of, two_replicas_scaled, {each.mistake}, way);
        CHECK(found.diagnoses() == std::vector{each.mistake});
        CHECK((!found.healthy() && found.findings().front().certain));
        CHECK(of.parameters.front()(0) == before);
      }
}

TEST_CASE("without clipping, scale and replicas the mistakes that are left are named as well") {
  loop_terms const plain{.mean = mean_over::tokens, .microbatches = 4};
  for (kind const which : {kind::linear, kind::perceptron, kind::language})
    for (diagnosis const mistake :
         {diagnosis::mean_of_means, diagnosis::ignored_positions_counted, diagnosis::other_unit,
          diagnosis::divided_twice, diagnosis::not_divided, diagnosis::last_group_divided_by_full,
          diagnosis::not_cleared_between_groups, diagnosis::cleared_after_every_microbatch,
          diagnosis::parameters_changed, diagnosis::random, diagnosis::unexplained}) {
      CAPTURE(models::name_of(which));
      model<float> of(which, 30, 12);
      CHECK(examined(of, plain, {mistake}).diagnoses() == std::vector{mistake});
    }
}

TEST_CASE("two mistakes at once are both named") {
  using enum diagnosis;
  for (std::vector<diagnosis> const& both :
       std::vector<std::vector<diagnosis>>{{mean_of_means, last_group_divided_by_full},  // sum += mean / A
                                           {mean_of_means, not_divided},                 // sum += mean
                                           {mean_of_means, not_cleared_between_groups},
                                           {mean_of_means, clipped_per_microbatch},
                                           {ignored_positions_counted, world_size_missing},
                                           {divided_twice, never_unscaled},
                                           {cleared_after_every_microbatch, unscaled_twice},
                                           {not_divided, not_clipped}}) {
    model<double> of(kind::perceptron, 30, 13);
    CHECK(examined(of, two_replicas_scaled, both).diagnoses() == both);
  }
}

TEST_CASE("gradients that another framework wrote are explained without calling it") {
  model<double> of(kind::linear, 8, 16);
  auto const handed_over = [&](examples const& list) { return of.mean(list); };
  auto const group = [&](examples const& a, examples const& b) {
    accrue::doctor::observed_group seen{{handed_over(a), handed_over(b)}, {}};
    seen.handed_over = seen.microbatches[0].gradient;
    for (std::size_t i = 0; i < of.size(); ++i)
      seen.handed_over.values[i] = (seen.handed_over.values[i] + seen.microbatches[1].gradient.values[i]) / 2;
    return seen;
  };
  auto const first = group({0, 1, 2, 3}, {4});
  auto const second = group({5}, {6, 7, 0});
  auto const found = accrue::doctor::explain({first, second}, {.mean = mean_over::tokens, .microbatches = 2});
  CHECK(found.diagnoses() == std::vector{diagnosis::mean_of_means});
  for (double const bad : {std::nan(""), HUGE_VAL}) {
    auto broken = group({5}, {6, 7, 0});
    broken.microbatches[1].gradient.values[2] = bad;
    broken.microbatches[1].magnitude = broken.microbatches[1].gradient.largest();
    auto const said = accrue::doctor::explain({first, broken}, {.mean = mean_over::tokens, .microbatches = 2});
    REQUIRE(said.diagnoses() == std::vector{diagnosis::not_finite});
    CHECK(said.findings().front().saw.find("microbatch 1 of group 1 has ") == 0);
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(accrue::doctor::explain({}, {})),
                       "accrue::doctor::explain: no groups; there is nothing to explain; hand over two or more",
                       accrue::error);
}

TEST_CASE("mistakes that the numbers cannot tell apart are both named, as uncertain") {
  loop_terms terms{.mean = mean_over::tokens, .microbatches = 2, .replicas = 2};  // A = D
  model<double> of(kind::linear, 30, 14);
  report const found = examined(of, terms, {diagnosis::world_size_missing});
  CHECK(found.diagnoses() == std::vector{diagnosis::not_divided, diagnosis::world_size_missing});
  CHECK(!found.findings().front().certain);
}

TEST_CASE_TEMPLATE("each mistake of a backward pass is named, and the loop over it is not judged", T, float, double) {
  using accrue::doctor::microbatch;
  loop_terms const terms{.mean = mean_over::tokens, .loss_scale = 256};
  for (kind const which : {kind::linear, kind::perceptron, kind::language}) {
    CAPTURE(models::name_of(which));
    model<T> of(which, 24, 15);
    auto const counts = [&](examples const& list) { return accrue::tokens{of.tokens(list)}; };
    auto const found = [&](accrue::doctor::microbatch_function const& function) {
      loop<T> const right(of, terms, {});
      report const all =
          accrue::doctor::examine_loop(accrue::parameters(of.parameters), function, right, accrue::samples{24}, terms);
      report const alone =
          accrue::doctor::examine(accrue::parameters(of.parameters), function, accrue::samples{24}, terms);
      CHECK(all.diagnoses() == alone.diagnoses());
      CHECK(all.notes().back().find("the loop was not examined") == 0);
      return alone.diagnoses();
    };
    using enum diagnosis;
    CHECK(found([&](examples const& e) { return of.mean(e, {.batch_statistics = true}); }) ==
          std::vector{batch_statistics});
    CHECK(found([&](examples const& e) { return of.mean(e, {.dropout = true}); }) == std::vector{random});
    CHECK(found([&](examples const& e) { return of.mean(e, {.dropout_by_place = true}); }) ==
          std::vector{depends_on_order});
    CHECK(found([&](examples const& e) {
            of.write(of.sum_gradient(e), T(1) / static_cast<T>(of.tokens(e)), true);
            return microbatch(accrue::mean_gradient{of.gradient}, counts(e));
          }) == std::vector{adds_to_gradient});
    CHECK(found([&](examples const& e) {
            of.write(of.sum_gradient(e));
            return microbatch(accrue::mean_gradient{of.gradient}, counts(e));
          }) == std::vector{sum_called_mean});
    CHECK(found([&](examples const& e) {
            of.write(of.sum_gradient(e), T(1) / static_cast<T>(of.tokens(e)));
            return microbatch(accrue::sum_gradient{of.gradient}, counts(e));
          }) == std::vector{mean_called_sum});
    CHECK(found([&](examples const& e) {
            of.write(of.sum_gradient(e), T(1) / static_cast<T>(e.size()));
            return microbatch(accrue::mean_gradient{of.gradient}, counts(e), accrue::samples{e.size()});
          }) == std::vector{other_unit});
    CHECK(found([&](examples const& e) {
            of.write(of.sum_gradient(e), T(1) / static_cast<T>(of.tokens(e) + of.ignored(e)));
            return microbatch(accrue::mean_gradient{of.gradient}, counts(e), accrue::ignored_tokens{of.ignored(e)});
          }) == std::vector{ignored_positions_counted});
    CHECK(found([&](examples const& e) {  // counts a rectangle, padding and all
            std::int64_t longest = 0;
            for (auto const each : e) longest = std::max(longest, of.tokens({each}) + of.ignored({each}));
            std::int64_t const all = longest * static_cast<std::int64_t>(e.size());
            of.write(of.sum_gradient(e), T(1) / static_cast<T>(all));
            return microbatch(accrue::mean_gradient{of.gradient}, accrue::tokens{all});
          }) == std::vector{count_depends_on_split});
    CHECK(found([&](examples const& e) {
            of.parameters.front()(0) += static_cast<T>(0.125);
            return of.mean(e);
          }) == std::vector{parameters_changed});
    // What is in every gradient shows in the loss alone: A is 3, N is that of all examples.
    CHECK(found([&](examples const& e) {
            of.write(of.sum_gradient(e), T(1) / (3 * static_cast<T>(of.tokens(e))));
            return microbatch(accrue::mean_gradient{of.gradient}, counts(e), accrue::sum_loss{of.loss()});
          }) == std::vector{divided_twice});
    CHECK(found([&](examples const& e) {
            of.write(of.sum_gradient(e), 256 / static_cast<T>(of.tokens(e)));
            return microbatch(accrue::mean_gradient{of.gradient}, counts(e),
                              accrue::mean_loss{of.loss() / static_cast<T>(of.tokens(e))});
          }) == std::vector{never_unscaled});
    CHECK(found([&](examples const& e) {
            of.write(of.sum_gradient(e), e.front() == 3 ? static_cast<T>(INFINITY) : T(1));
            return microbatch(accrue::sum_gradient{of.gradient}, counts(e));
          }) == std::vector{not_finite});
    for (double const bad : {std::nan(""), HUGE_VAL})  // in parts only, neither alone nor in the whole
      CHECK(found([&](examples const& e) {
              of.write(of.sum_gradient(e), e.size() == 2 ? static_cast<T>(bad) : T(1));
              return microbatch(accrue::sum_gradient{of.gradient}, counts(e));
            }) == std::vector{not_finite});
  }
}

TEST_CASE("of 1000 random configurations that are right none is called wrong") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::vector<diagnosis> const none;
    CHECK(found_at_random<float>(seed, terms_at_random(seed), {}).diagnoses() == none);
    CHECK(found_at_random<double>(seed, terms_at_random(seed + 1000000), {}).diagnoses() == none);
  }
}

TEST_CASE("in random configurations a mistake is among what is named, or is said not to show") {
  std::uint64_t seed = 0;
  int alone = 0;
  for (int round = 0; round < 8; ++round)
    for (planted const& each : in_loops)
      for (int way = 0; way < each.ways; ++way) {
        loop_terms const terms = terms_at_random(++seed);
        report const found = found_at_random<float>(seed, terms, {each.mistake}, way);
        CAPTURE(seed);
        CAPTURE(way);
        CAPTURE(accrue::doctor::name_of(each.mistake));
        CAPTURE(found);
        if (found.diagnoses() == std::vector{each.mistake}) {
          ++alone;
        } else if (!found.healthy()) {
          CHECK(found.has(each.mistake));
          CHECK(!found.findings().front().certain);
        } else {
          auto const known = accrue::doctor::single_mistakes(terms, terms.takes_bound || std::isfinite(terms.max_norm));
          bool const possible = std::any_of(known.begin(), known.end(), [&](accrue::doctor::hypothesis const& h) {
            return h.mistakes().front() == each.mistake;
          });
          bool const noted = std::any_of(found.notes().begin(), found.notes().end(), [&](std::string const& note) {
            return note.find(accrue::doctor::name_of(each.mistake)) != std::string::npos;
          });
          CHECK((noted || !possible));
        }
      }
  CHECK(alone > 15 * 8);  // of 32 a round; the others have no replicas, no scale, no bound, or equal numbers
}

TEST_CASE("examples without a single target are no mistake, though their mean is 0/0") {
  model<float> of(kind::perceptron, 12, 17);
  loop_terms const terms{.mean = mean_over::tokens, .microbatches = 2};
  auto const some = [&](examples const& list) {  // of examples 3 and 7 nothing is learned
    examples left;
    for (auto const e : list)
      if (e != 3 && e != 7) left.push_back(e);
    return left;
  };
  auto const function = [&](examples const& list) {
    auto const tokens = of.tokens(some(list));
    of.write(of.sum_gradient(some(list)), 1 / static_cast<float>(tokens));
    return accrue::doctor::microbatch(accrue::mean_gradient{of.gradient}, accrue::tokens{tokens});
  };
  CHECK(std::isnan(function({3}).gradient.values.front()));
  CHECK(accrue::doctor::examine(accrue::parameters(of.parameters), function, accrue::samples{12}, terms).healthy());
}

TEST_CASE("what was left in the sums before the examination is no mistake of a loop that clears them itself") {
  model<float> of(kind::linear, 24, 18);
  loop<float> right(of, two_replicas_scaled, {});
  float left = 5;
  auto const clears_afterwards = [&](accrue::doctor::group const& group) {
    accrue::doctor::gradient handed_over = right(group);
    handed_over.values.front() += static_cast<double>(left);
    left = 0;
    return handed_over;
  };
  auto const found = accrue::doctor::examine_loop(
      accrue::parameters(of.parameters), [&](examples const& list) { return of.mean(list); }, clears_afterwards,
      accrue::samples{24}, two_replicas_scaled);
  CHECK(found.healthy());
}

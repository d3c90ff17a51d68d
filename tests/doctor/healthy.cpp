// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is right is never called wrong: a thousand random configurations of models, groups, scalars, scales and bounds.
#include <accrue/doctor/examine_loop.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <random>
#include <sstream>

#include "models.hpp"

using namespace models;

namespace {

/// Examines a right loop; returns what was said against it.
template <class T>
std::string complaint(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  accrue::doctor::loop_terms terms;
  terms.mean = random() % 3 == 0 ? mean_over::samples : mean_over::tokens;
  terms.microbatches = 1 + static_cast<std::int64_t>(random() % 5);
  terms.replicas = 1 + static_cast<int>(random() % 3);
  terms.loss_scale = random() % 2 == 0 ? 1.0 : std::exp2(static_cast<double>(random() % 17));
  terms.takes_bound = random() % 3 == 0;
  if (random() % 3 == 0) terms.max_norm = std::exp2(static_cast<double>(random() % 12) - 8);
  terms.seed = random();
  auto const least = std::max<std::size_t>(4, 2 * static_cast<std::size_t>(terms.microbatches * terms.replicas));
  double const spread = std::exp2(static_cast<double>(random() % 7) - 4);
  model<T> of(static_cast<kind>(random() % 3), least + random() % 12, random(), spread);
  loop<T> const right(of, terms, {});
  auto const found = accrue::doctor::examine_loop(
      accrue::parameters(of.parameters), [&](examples const& list) { return of.mean(list, {}, terms.mean); }, right,
      accrue::samples{of.count()}, terms);
  std::ostringstream text;
  if (!found.healthy()) text << found;
  return text.str();
}

}  // namespace

TEST_CASE("of 1000 random configurations that are right none is called wrong") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    CHECK(complaint<float>(2 * seed) == "");
    CHECK(complaint<double>(2 * seed + 1) == "");
  }
}

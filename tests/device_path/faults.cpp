// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rejected microbatches, and a scale that two accumulators share, as devices run them.
#include <accrue/core/device_array.hpp>

template <>
inline constexpr bool accrue::runs_on_host_v<Kokkos::DefaultHostExecutionSpace> = false;

#include "device_path/fence_count.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#ifdef KOKKOS_ENABLE_OPENMP
#include <omp.h>
#endif

using namespace accrue;

namespace {

template <class T>
using view = Kokkos::View<T*, Kokkos::HostSpace>;
constexpr std::size_t views = 4, size = 3001;  // several chunks each

/// What should come of it: the same in plain numbers. Element i of a gradient is its size times 1 + i % 2.
struct plain_numbers {
  float scale;
  int clean = 0;
  std::array<double, views> theta{}, velocity{}, sum{};
  std::array<bool, views> touched{};
  double phi = 0.0;
  std::int64_t weight = 0;
  bool overflow = false;
  std::int64_t applied = 0, skipped = 0, empty = 0, microbatches = 0;
  std::vector<std::int64_t> rejected{};

  void add(double size_of_gradient, std::int64_t count, bool poisoned, std::size_t views_given) {
    ++microbatches;
    if (poisoned || 2.0 * size_of_gradient * static_cast<double>(scale) > 65504.0) {  // no float16
      overflow = true;
      rejected.push_back(microbatches);
      return;
    }
    weight += count;
    for (std::size_t v = 0; v < views_given; ++v)
      sum[v] += size_of_gradient * static_cast<double>(count), touched[v] = true;
  }
  void update(bool other_is_bad) {
    bool const holds = weight > 0;
    (!holds ? empty : other_is_bad ? skipped : applied) += 1;
    if (!other_is_bad) phi -= 1.0;
    for (std::size_t v = 0; v < views; ++v) {
      if (!holds || other_is_bad || !touched[v]) continue;
      velocity[v] = 0.5 * velocity[v] + sum[v] / static_cast<double>(weight);
      theta[v] -= velocity[v];
    }
    if (overflow || other_is_bad)
      scale /= 2, clean = 0;
    else if (++clean == 4)
      scale *= 2, clean = 0;
    weight = 0, sum = {}, touched = {}, overflow = false;
  }
};

}  // namespace

TEST_CASE("device path: bad microbatches are left out, and one scale moves for two that close together") {
  plain_numbers expected{.scale = 0x1p19f};
  shared_scale const scale(
      dynamic_scale{.initial = expected.scale, .growth_interval = 4, .at_floor = overflow_at_floor::stays});
  std::vector<view<float>> theta;
  std::vector<view<float16>> gradient;
  for (std::size_t v = 0; v < views; ++v) theta.emplace_back("theta", size), gradient.emplace_back("gradient", size);
  view<double> const phi("phi", size), of_phi("of_phi", size);

  accumulator first(parameters(theta), per_token{}, scale, reject_microbatch{},
                    momentum{.learning_rate = 1.0, .factor = 0.5});
  accumulator second(parameters(phi), per_token{}, scale, clip_by_global_norm{.max_norm = 1e6},
                     sgd{.learning_rate = 1.0});
  fence_count const fences;
  for (int g = 0; g < 40; ++g) {
    Kokkos::fence();
    REQUIRE(scale.cell().view()() == expected.scale);
    for (int m = 0; m < 3; ++m) {
      double const one = (1 + (g * 5 + m * 3) % 8) / 8.0;
      bool const poisoned = (g * 7 + m * 4) % 11 == 0;
      std::size_t const given = m == 1 ? views : views - 1;  // the last view only now and then
      std::int64_t const count = 1 + (g + m) % 4;
      std::vector<std::optional<view<float16>>> some(views);
      for (std::size_t v = 0; v < given; ++v) {
        for (std::size_t i = 0; i < size; ++i)
          gradient[v](i) = narrow<float16>(one * static_cast<double>(1 + i % 2) * static_cast<double>(expected.scale));
        some[v] = gradient[v];
      }
      if (poisoned) gradient[given - 1](size - 1) = narrow<float16>(std::numeric_limits<double>::quiet_NaN());
      std::vector<std::int64_t> const ids{100 * g + m};
      first.accumulate(mean_gradient{some}, tokens{count}, sample_ids(ids));
      expected.add(one, count, poisoned, given);
    }
    bool const bad = g % 13 == 5;
    Kokkos::deep_copy(of_phi, static_cast<double>(expected.scale));
    if (bad) of_phi(17) = std::numeric_limits<double>::infinity();
    second.accumulate(mean_gradient{of_phi}, tokens{5});
    update_together(first, second);
    expected.update(bad);
  }
  CHECK(fences.value() == 0);

  for (std::size_t i : {std::size_t(0), std::size_t(1), size - 1}) {
    for (std::size_t v = 0; v < views; ++v)
      CHECK(theta[v](i) == doctest::Approx(expected.theta[v] * static_cast<double>(1 + i % 2)).epsilon(1e-5));
    CHECK(phi(i) == doctest::Approx(expected.phi));
  }
  ledger const& book = first.ledger();
  CHECK(expected.empty > 2);
  CHECK(book.empty_groups() == expected.empty);
  CHECK(book.applied() == updates{expected.applied});
  CHECK(book.skipped() == updates{expected.skipped});
  std::vector<std::int64_t> rejected;
  for (rejection const& each : book.rejections()) {
    rejected.push_back(each.microbatch);
    std::int64_t const n = each.microbatch - 1;
    CHECK(each.sample_ids == std::vector<std::int64_t>{100 * (n / 3) + n % 3});
  }
  CHECK(rejected == expected.rejected);
}

TEST_CASE("device path: accumulators on two instances wait for each other, before and after they close together") {
#ifdef KOKKOS_ENABLE_OPENMP
  int const levels = omp_get_max_active_levels();
  omp_set_max_active_levels(2);  // with one Kokkos divides no OpenMP instance
#endif
  auto const instances = Kokkos::Experimental::partition_space(Kokkos::DefaultHostExecutionSpace{}, 1, 1);
  bool const told_apart = instances[0] != instances[1];
  shared_scale const scale(dynamic_scale{.initial = 4.0, .at_floor = overflow_at_floor::stays});
  view<double> const theta("theta", 2), phi("phi", 2), gradient("gradient", 2);
  Kokkos::deep_copy(gradient, 8.0);
  accumulator first(instances[0], parameters(theta), per_sample{}, scale, sgd{.learning_rate = 1.0});
  accumulator second(instances[1], parameters(phi), per_sample{}, scale, sgd{.learning_rate = 1.0});
  first.accumulate(mean_gradient{gradient}, samples{1});
  second.accumulate(mean_gradient{gradient}, samples{1});
  fence_count const fences;
  update_together(first, second);
  CHECK(fences.value() == (told_apart ? 6 : 0));
  CHECK(first.loss_scale().value() == 4.0f);
  CHECK(theta(1) == -2.0);
  CHECK(phi(1) == -2.0);
#ifdef KOKKOS_ENABLE_OPENMP
  omp_set_max_active_levels(levels);
#endif
}

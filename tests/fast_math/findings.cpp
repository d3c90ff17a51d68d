// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is not finite is found where the compiler may assume that there is no such thing.
#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

template <class T>
T not_finite(bool infinite) {
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(infinite ? std::uint64_t{0x7ff0000000000000} : std::uint64_t{0x7ff8000000000000});
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(infinite ? 0x7f800000U : 0x7fc00000U);
  else
    return std::bit_cast<T>(static_cast<std::uint16_t>(infinite ? 0x7f80U : 0x7fc0U));
}

/// Ones, and at `bad` what is not finite. Written as memory, because no such number may be passed about.
template <class T>
Kokkos::View<T*> gradient(std::size_t size, std::size_t bad, bool infinite) {
  Kokkos::View<T*> const view("gradient", size);
  auto const host = Kokkos::create_mirror_view(view);
  for (std::size_t i = 0; i < size; ++i) host.data()[i] = accrue::narrow<T>(accrue::accumulation_scalar_t<T>(1));
  if (bad < size) host.data()[bad] = not_finite<T>(infinite);
  Kokkos::deep_copy(view, host);
  return view;
}

template <class Group, class T>
accrue::outcome update_of(Group& group, Kokkos::View<T*> const& first, Kokkos::View<T*> const& second) {
  group.accumulate(accrue::mean_gradient{first}, accrue::tokens{3});
  group.accumulate(accrue::mean_gradient{second}, accrue::tokens{1});
  return group.update().result();
}

}  // namespace

TEST_CASE_TEMPLATE("NaN and Inf are found at any position under -ffast-math, in the group and in the microbatch", T,
                   float, double, accrue::bfloat16) {
  using parameter = accrue::accumulation_scalar_t<T>;
  constexpr std::size_t size = 37;  // lanes, and what is left
  Kokkos::View<parameter*> const theta("theta", size), phi("phi", size);
  accrue::accumulator skipping(accrue::parameters(theta), accrue::per_token{},
                               accrue::dynamic_scale{.at_floor = accrue::overflow_at_floor::stays},
                               accrue::sgd{.learning_rate = 1.0});
  accrue::accumulator rejecting(accrue::parameters(phi), accrue::per_token{}, accrue::reject_microbatch{},
                                accrue::sgd{.learning_rate = 1.0});
  auto const good = gradient<T>(size, size, false);
  for (std::size_t bad = 0; bad < size; ++bad) {
    auto const poisoned = gradient<T>(size, bad, bad % 2 == 0);
    REQUIRE(update_of(skipping, good, poisoned) == accrue::outcome::skipped_non_finite);
    REQUIRE(update_of(rejecting, poisoned, good) == accrue::outcome::applied);
  }
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, theta);
  auto const rejected = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, phi);
  for (std::size_t i = 0; i < size; ++i) {
    CHECK(host(i) == 0);
    CHECK(rejected(i) == -static_cast<parameter>(size));
  }
  CHECK(skipping.loss_scale().value() == 1.0F);
  auto const causes = rejecting.ledger().rejections();
  REQUIRE(causes.size() == size);
  for (std::size_t i = 0; i < size; ++i)
    CHECK(causes[i].cause == (i % 2 == 0 ? accrue::rejection_cause::infinite : accrue::rejection_cause::not_a_number));
}

TEST_CASE("settings and weights that are NaN are refused under -ffast-math") {
  double const nan = not_finite<double>(false);
  CHECK_THROWS_AS(accrue::validate(accrue::clip_by_global_norm{.max_norm = nan}), accrue::error);
  CHECK_THROWS_AS(accrue::validate(accrue::reject_microbatch{.max_norm = nan}), accrue::error);
  CHECK_THROWS_AS(accrue::weight{nan}, accrue::error);
  CHECK_THROWS_AS(accrue::weight{not_finite<double>(true)}, accrue::error);
}

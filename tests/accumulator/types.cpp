// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is deduced from the arguments, and what moving an accumulator means.
#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using exec = Kokkos::DefaultExecutionSpace;
using vector_view = Kokkos::View<float*>;
using matrix_view = Kokkos::View<double**, Kokkos::LayoutLeft>;
using one_vector = accrue::parameter_set<std::index_sequence<1>, vector_view>;
using mixed = accrue::parameter_set<std::index_sequence<2, 1>, vector_view, matrix_view, std::vector<vector_view>>;
using two_rules = accrue::per_group<accrue::adamw, accrue::momentum>;

}  // namespace

template class accrue::recipe<accrue::per_token>;
template class accrue::recipe<accrue::per_sample, accrue::every, accrue::pad_last, accrue::clip_by_value, accrue::adam>;
template class accrue::per_group<accrue::adamw, accrue::momentum>;
template struct accrue::update_rules<two_rules, mixed>;
template class accrue::accumulator<exec, one_vector, accrue::per_token, accrue::keep_last, accrue::sgd>;
template class accrue::accumulator<exec, mixed, two_rules, accrue::weighted, accrue::carry_last, accrue::sum_objective,
                                   accrue::at_least<accrue::tokens>, accrue::widened<double>,
                                   accrue::on_microbatch<accrue::clip_by_global_norm>>;

namespace {

template <class... Args>
using deduced = decltype(accrue::accumulator(std::declval<Args>()...));

// (params...)
static_assert(std::is_same_v<deduced<one_vector, accrue::per_token, accrue::sgd>,
                             accrue::accumulator<exec, one_vector, accrue::per_token, accrue::sgd>>);
static_assert(std::is_same_v<deduced<one_vector const&, accrue::per_token const&, accrue::sgd&>,
                             accrue::accumulator<exec, one_vector, accrue::per_token, accrue::sgd>>);
static_assert(std::is_same_v<deduced<one_vector, accrue::sgd, accrue::per_token>,
                             accrue::accumulator<exec, one_vector, accrue::sgd, accrue::per_token>>);

// (exec, params...): the first argument is the instance, not the parameters
using host_exec = Kokkos::DefaultHostExecutionSpace;
using host_vector = accrue::parameter_set<std::index_sequence<1>, Kokkos::View<float*, Kokkos::HostSpace>>;
static_assert(std::is_same_v<deduced<host_exec, host_vector, accrue::per_token>,
                             accrue::accumulator<host_exec, host_vector, accrue::per_token>>);
static_assert(std::is_same_v<deduced<host_exec const&, host_vector, accrue::per_token, accrue::sgd>,
                             accrue::accumulator<host_exec, host_vector, accrue::per_token, accrue::sgd>>);

// without an instance: the space where the first view's memory is at home
static_assert(std::is_same_v<deduced<host_vector, accrue::per_token>,
                             accrue::accumulator<Kokkos::View<float*, Kokkos::HostSpace>::execution_space, host_vector,
                                                 accrue::per_token>>);
static_assert(std::is_same_v<accrue::default_execution_space_t<accrue::parameter_set<std::index_sequence<0>>>, exec>);

// from an accumulator: a move, never an accumulator of accumulators
using group_type = accrue::accumulator<exec, one_vector, accrue::per_token, accrue::keep_last, accrue::sgd>;
static_assert(std::is_same_v<deduced<group_type>, group_type>);
static_assert(std::is_nothrow_move_constructible_v<group_type> && std::is_nothrow_move_assignable_v<group_type>);
static_assert(!std::is_copy_constructible_v<group_type> && !std::is_copy_assignable_v<group_type>);
static_assert(!std::is_default_constructible_v<group_type>);
static_assert(!std::is_convertible_v<one_vector, group_type> && !std::is_constructible_v<group_type, one_vector>);

static_assert(std::is_same_v<group_type::handle, accrue::update_handle<exec>>);
static_assert(std::is_same_v<decltype(std::declval<group_type&>().update()), group_type::handle>);
static_assert(std::is_same_v<decltype(std::declval<group_type&>().held()), accrue::microbatches>);

template <class T>
std::string printed(T const& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

float value(vector_view const& view) { return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view)(0); }

}  // namespace

TEST_CASE("accumulator: the order in which policies are given changes nothing") {
  vector_view const theta_a("theta", 1), theta_b("theta", 1), gradient("gradient", 1);
  Kokkos::deep_copy(gradient, 4.0f);
  accrue::accumulator a(accrue::parameters(theta_a), accrue::per_token{}, accrue::clip_by_value{.max_value = 0.5},
                        accrue::every{2}, accrue::keep_last{}, accrue::sgd{.learning_rate = 1.0});
  accrue::accumulator b(accrue::parameters(theta_b), accrue::sgd{.learning_rate = 1.0}, accrue::keep_last{},
                        accrue::every{2}, accrue::clip_by_value{.max_value = 0.5}, accrue::per_token{});
  CHECK(printed(a.policies()) == printed(b.policies()));
  a.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{3});
  b.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{3});
  CHECK(a.end_of_data() == accrue::outcome::applied);
  CHECK(b.end_of_data() == accrue::outcome::applied);
  CHECK(value(theta_a) == -0.5f);
  CHECK(value(theta_b) == -0.5f);
}

TEST_CASE("accumulator: runs on the instance that it was given, or that a call was given") {
  vector_view const theta("theta", 1), gradient("gradient", 1);
  exec const instance;
  accrue::accumulator group(instance, accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{},
                            accrue::sgd{.learning_rate = 1.0});
  static_assert(std::is_same_v<decltype(group), group_type>);
  CHECK(group.exec() == instance);
  Kokkos::deep_copy(gradient, 2.0f);
  group.accumulate(instance, accrue::mean_gradient{gradient}, accrue::tokens{1});
  CHECK(group.update(instance) == accrue::outcome::applied);
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{1});
  CHECK(group.end_of_data(instance) == accrue::outcome::applied);
  CHECK(value(theta) == -4.0f);
}

TEST_CASE("accumulator: moves in the middle of a group, with its state, settings and totals") {
  vector_view const theta("theta", 1), gradient("gradient", 1), other("other", 1);
  // The first velocity is 2, the second 0.5 * 2 + 4: a lost state would give 4.
  accrue::accumulator first(accrue::parameters(theta), accrue::per_token{}, accrue::every{2}, accrue::keep_last{},
                            accrue::momentum{.learning_rate = 1.0, .factor = 0.5});
  Kokkos::deep_copy(gradient, 2.0f);
  first.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{1});
  auto const handle = first.update();
  Kokkos::deep_copy(gradient, 1.0f);
  first.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{1});

  accrue::accumulator second(std::move(first));
  static_assert(std::is_same_v<decltype(second), decltype(first)>);
  CHECK(second.held() == accrue::microbatches{1});
  CHECK(second.ledger().tokens() == accrue::tokens{2});
  Kokkos::deep_copy(gradient, 5.0f);
  second.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{3});
  CHECK(second.full());

  accrue::accumulator third(accrue::parameters(other), accrue::per_token{}, accrue::every{7}, accrue::keep_last{},
                            accrue::momentum{});
  third = std::move(second);
  CHECK(third.policies().boundary.microbatches() == accrue::microbatches{2});
  CHECK(third.update() == accrue::outcome::applied);
  CHECK(third.ledger().applied() == accrue::updates{2});
  CHECK(handle == accrue::outcome::applied);
  CHECK(value(theta) == -2.0f - (0.5f * 2.0f + 4.0f));
  CHECK(value(other) == 0.0f);
}

TEST_CASE("accumulator: measures and copies the open group's gradient as it stands, zero where there is none") {
  vector_view const theta("theta", 2), gradient("gradient", 2);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::clip_by_global_norm{.order = 1.0},
                            accrue::sgd{});
  auto const both = [&] {
    return std::pair(group.measure().norm,
                     Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, group.snapshot<0>())(1));
  };
  CHECK(both() == std::pair(0.0, 0.0f));
  Kokkos::deep_copy(gradient, 3.0f);
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{0});
  CHECK(both() == std::pair(0.0, 0.0f));
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{1});
  CHECK(both() == std::pair(6.0, 3.0f));  // before clipping, in the norm that the clip looks at
  Kokkos::deep_copy(gradient, -1.0f);
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{3});
  CHECK(both() == std::pair(0.0, 0.0f));
  Kokkos::deep_copy(gradient, std::numeric_limits<float>::infinity());
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{1});
  CHECK(!group.measure().finite);
  CHECK(group.update() == accrue::outcome::skipped_non_finite);
  CHECK(both() == std::pair(0.0, 0.0f));
}

TEST_CASE("accumulator: keeps its parameters alive") {
  vector_view const gradient("gradient", 1);
  Kokkos::deep_copy(gradient, 2.0f);
  auto group = [] {
    vector_view const theta("theta", 1);
    return accrue::accumulator(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
  }();
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{1});
  CHECK(group.update() == accrue::outcome::applied);
}

TEST_CASE("accumulator: its recipe prints every slot, in the order in which the data meet them") {
  accrue::accumulator const group(
      accrue::parameters(vector_view("theta", 1)), accrue::per_token{}, accrue::at_least{accrue::tokens{4096}},
      accrue::on_microbatch(accrue::clip_by_value{}), accrue::per_group{accrue::sgd{.learning_rate = 0.5}});
  CHECK(printed(group.policies()) ==
        "per_token, mean_objective, at_least{tokens=4096}, one_at_a_time, widened, one_replica, unscaled, late, "
        "skip_group, "
        "on_microbatch{clip=clip_by_value{max_value=1}}, no_last_group, per_group{rule=sgd{learning_rate=0.5, "
        "weight_decay=0}}");
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the host can see throws, says the way out, and leaves the accumulator as it was.
#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using view = Kokkos::View<double*>;
using matrix = Kokkos::View<double**>;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

view filled(double value, std::size_t n = 1) {
  view const made("gradient", n);
  Kokkos::deep_copy(made, value);
  return made;
}

template <class View>
std::string numbers(View const& v) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, v);
  std::ostringstream out;
  for (std::size_t i = 0; i < host.extent(0); ++i) out << host(i) << ' ';
  return out.str();
}

template <class Call>
std::string what(Call call) {
  try {
    call();
  } catch (accrue::error const& e) {
    return e.what();
  }
  return "nothing thrown";
}

/// All that can be seen of an accumulator whose first item is a vector.
template <class Group>
std::string state_of(Group& group, view const& theta) {
  std::ostringstream out;
  out << group.policies() << " held " << group.held() << " full " << group.full() << " ledger " << group.ledger();
  for (auto const& entry : group.ledger().records()) out << " record " << entry;
  out << " positions " << group.ledger().positions() << " gradient " << numbers(group.template snapshot<0>())
      << "parameter " << numbers(theta);
  return out.str();
}

/// Whether a call throws an error that begins so, and nothing can be seen of it afterwards.
template <class Group, class Call>
bool refused_without_a_trace(Group& group, view const& theta, std::string const& text, Call call) {
  std::string const before = state_of(group, theta);
  std::string const said = what(call);
  INFO(said);
  CHECK(said.find(text) == 0);
  CHECK(state_of(group, theta) == before);
  return said.find(text) == 0 && state_of(group, theta) == before;
}

}  // namespace

TEST_CASE("a full group takes no microbatch, whatever made it full") {
  view const theta("theta", 1);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::every{2},
                            accrue::sgd{.learning_rate = 1.0});
  group.accumulate(accrue::mean_gradient{filled(2.0)}, accrue::tokens{1});
  group.accumulate(accrue::mean_gradient{filled(9.0)}, accrue::tokens{0});  // ignored, and it fills a place
  REQUIRE(group.full());
  CHECK(refused_without_a_trace(group, theta, "accrue::accumulator: the group is full; another microbatch would",
                                [&] { group.accumulate(accrue::mean_gradient{filled(7.0)}, accrue::tokens{1}); }));
  CHECK(group.update() == accrue::outcome::applied);
  CHECK(numbers(theta) == "-2 ");

  group.accumulate(accrue::mean_gradient{filled(3.0)}, accrue::tokens{1});
  group.change_boundary(accrue::every{1});
  CHECK(refused_without_a_trace(group, theta, "accrue::accumulator: the group is full; ",
                                [&] { group.accumulate(accrue::mean_gradient{filled(7.0)}, accrue::tokens{1}); }));
  CHECK(group.update() == accrue::outcome::applied);
  CHECK(numbers(theta) == "-5 ");
}

TEST_CASE("gradients that do not fit are refused before the first of them is added") {
  view const theta("theta", 1), bias("bias", 3);
  matrix const weight("weight", 2, 3), gradient_of_weight("gradient", 2, 3);
  std::vector<view> const layers{view("layer 0", 1), view("layer 1", 2)};
  accrue::accumulator group(accrue::parameters(theta, bias, weight, layers), accrue::per_token{},
                            accrue::sgd{.learning_rate = 1.0});
  std::vector<view> const of_layers{filled(1.0), filled(1.0, 2)};
  auto const accumulate = [&](auto const& b, auto const& w, auto const& l) {
    group.accumulate(accrue::mean_gradient{filled(5.0), b, w, l}, accrue::tokens{1});
  };
  accumulate(filled(1.0, 3), gradient_of_weight, of_layers);
  auto const refused = [&](std::string const& text, auto const& b, auto const& w, auto const& l) {
    return refused_without_a_trace(group, theta, text, [&] { accumulate(b, w, l); });
  };
  CHECK(refused("accrue: parameter 1 ('bias') has extents (3), its gradient (4); ", filled(1.0, 4), gradient_of_weight,
                of_layers));
  CHECK(refused("accrue: parameter 2 ('weight') has extents (2, 3), its gradient (3, 2); ", filled(1.0, 3),
                matrix("g", 3, 2), of_layers));
  CHECK(refused("accrue: parameter 4 ('layer 1') has extents (2), its gradient (1); ", filled(1.0, 3),
                gradient_of_weight, std::vector{filled(1.0), filled(1.0)}));
  CHECK(refused("accrue: 1 gradients for 2 parameters, from parameter 3 ('layer 0'); ", filled(1.0, 3),
                gradient_of_weight, std::vector{filled(1.0)}));
  CHECK(refused("accrue: 3 gradients for 2 parameters, from parameter 3 ('layer 0'); ", filled(1.0, 3),
                gradient_of_weight, std::vector{filled(1.0), filled(1.0, 2), filled(1.0)}));
  CHECK(refused("accrue: 1 gradients for 2 parameters, from parameter 3 ('layer 0'); ", filled(1.0, 3),
                gradient_of_weight, filled(1.0)));
  CHECK(refused("accrue: 2 gradients for 1 parameters, from parameter 1 ('bias'); ",
                std::vector{filled(1.0, 3), filled(1.0, 3)}, gradient_of_weight, of_layers));
  CHECK(refused("accrue: 1 gradients for 2 parameters, from parameter 3 ('layer 0'); ", filled(1.0, 3),
                gradient_of_weight, std::vector{std::optional<view>{}}));

  accumulate(filled(3.0, 3), gradient_of_weight, std::vector{std::optional{filled(1.0)}, std::optional<view>{}});
  CHECK(group.update() == accrue::outcome::applied);
  CHECK(numbers(theta) == "-5 ");
  CHECK(numbers(bias) == "-2 -2 -2 ");
  CHECK(numbers(layers[1]) == "-0.5 -0.5 ");
}

TEST_CASE("a gradient that was never allocated is refused, where its extents do not tell") {
  Kokkos::View<double> const scalar("scalar"), never;
  view const theta("theta", 1);
  accrue::accumulator group(accrue::parameters(theta, scalar), accrue::per_token{}, accrue::sgd{});
  CHECK(refused_without_a_trace(group, theta, "accrue: the gradient of parameter 1 ('scalar') was never allocated; ",
                                [&] {
                                  group.accumulate(accrue::mean_gradient{filled(7.0), never}, accrue::tokens{1});
                                }));
}

TEST_CASE("a parameter is not its own gradient") {
  view const theta("theta", 1), bias("bias", 3), nothing("nothing", 0);
  std::vector<view> const layers{view("layer 0", 2), view("layer 1", 2)};
  accrue::accumulator group(accrue::parameters(theta, bias, nothing, layers), accrue::per_token{}, accrue::sgd{});
  auto const refused = [&](std::string const& text, auto const& b, auto const& l) {
    return refused_without_a_trace(group, theta, text, [&] {
      group.accumulate(accrue::mean_gradient{filled(5.0), b, nothing, l}, accrue::tokens{1});
    });
  };
  CHECK(refused("accrue: the gradient of parameter 1 ('bias') is the parameter itself; ", bias, layers));
  CHECK(refused("accrue: the gradient of parameter 4 ('layer 1') is the parameter itself; ", filled(1.0, 3),
                std::vector{filled(1.0, 2), layers[1]}));
  group.accumulate(accrue::mean_gradient{filled(5.0), filled(1.0, 3), nothing, accrue::no_gradient}, accrue::tokens{1});
  CHECK(group.held() == accrue::microbatches{1});
}

TEST_CASE("a loss that was never allocated is refused before the gradient is added") {
  Kokkos::View<double> const never;
  view const theta("theta", 1);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{.learning_rate = 1.0});
  group.accumulate(accrue::mean_gradient{filled(2.0)}, accrue::tokens{1}, accrue::mean_loss{0.5});
  std::string const text = "accrue: the view of the loss was never allocated; ";
  CHECK(refused_without_a_trace(group, theta, text, [&] {
    group.accumulate(accrue::mean_gradient{filled(7.0)}, accrue::tokens{1}, accrue::mean_loss{never});
  }));
  CHECK(refused_without_a_trace(group, theta, text, [&] {
    group.accumulate(accrue::mean_gradient{filled(7.0)}, accrue::tokens{1}, accrue::sum_loss{never});
  }));
  CHECK(group.update() == accrue::outcome::applied);
  CHECK(numbers(theta) == "-2 ");
  CHECK(group.ledger().records().back().loss == 0.5);
}

TEST_CASE("counts that overflow are refused before the gradient is added") {
  view const theta("theta", 1);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::sgd{.learning_rate = 1.0});
  group.accumulate(accrue::mean_gradient{filled(2.0)}, accrue::samples{1}, accrue::positions{most});
  CHECK(refused_without_a_trace(group, theta, "accrue: a sum of positions exceeds 63 bits; ", [&] {
    group.accumulate(accrue::mean_gradient{filled(7.0)}, accrue::samples{1}, accrue::positions{1});
  }));
  CHECK(refused_without_a_trace(group, theta, "accrue: a sum of samples exceeds 63 bits; ",
                                [&] { group.accumulate(accrue::mean_gradient{filled(7.0)}, accrue::samples{most}); }));
  CHECK(group.update() == accrue::outcome::applied);
  CHECK(refused_without_a_trace(group, theta, "accrue: a sum of positions exceeds 63 bits; ", [&] {  // of all groups
    group.accumulate(accrue::mean_gradient{filled(7.0)}, accrue::samples{1}, accrue::positions{1});
  }));
  group.accumulate(accrue::mean_gradient{filled(3.0)}, accrue::samples{1});
  CHECK(group.update() == accrue::outcome::applied);
  CHECK(numbers(theta) == "-5 ");
}

TEST_CASE("a rule that needs more state, or has no sense, does not take the place of the old one") {
  view const theta("theta", 1);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::adam{.learning_rate = 0.5});
  group.accumulate(accrue::mean_gradient{filled(2.0)}, accrue::tokens{1});
  CHECK(refused_without_a_trace(group, theta, "accrue::accumulator: the new rule keeps more state per element; ",
                                [&] { group.change_rule(accrue::adam{.learning_rate = 0.25, .amsgrad = true}); }));
  CHECK(refused_without_a_trace(group, theta, "accrue::adam: beta1 is 1; it must be at least 0 and below 1; ",
                                [&] { group.change_rule(accrue::adam{.beta1 = 1.0}); }));
  group.change_rule(accrue::adam{.learning_rate = 0.125});
  CHECK(group.update() == accrue::outcome::applied);
  CHECK(numbers(theta) == "-0.125 ");  // Adam's first update has the length of its learning rate
}

TEST_CASE("refuse_last refuses a short last group and leaves it open") {
  view const theta("theta", 1);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::every{2}, accrue::refuse_last{},
                            accrue::sgd{.learning_rate = 1.0});
  CHECK(group.end_of_data() == accrue::outcome::empty);  // no group is no short group
  group.accumulate(accrue::mean_gradient{filled(2.0)}, accrue::tokens{1});
  CHECK(refused_without_a_trace(group, theta,
                                "accrue::accumulator: the data end in a group of 1 microbatches that is not full; ",
                                [&] { (void)group.end_of_data(); }));
  group.accumulate(accrue::mean_gradient{filled(4.0)}, accrue::tokens{1});
  CHECK(group.end_of_data() == accrue::outcome::applied);  // full: nothing is short
  CHECK(numbers(theta) == "-3 ");
}

TEST_CASE("an accumulator that was moved from says so") {
  view const theta("theta", 1);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::every{2}, accrue::keep_last{},
                            accrue::sgd{});
  group.accumulate(accrue::mean_gradient{filled(2.0)}, accrue::tokens{1});
  auto const moved = std::move(group);
  std::string const text =
      "accrue::accumulator: this object was moved from; it has no parameters; use the one it was moved to";
  CHECK(what([&] { group.accumulate(accrue::mean_gradient{filled(2.0)}, accrue::tokens{1}); }) == text);
  CHECK(what([&] { (void)group.update(); }) == text);
  CHECK(what([&] { (void)group.end_of_data(); }) == text);
  CHECK(what([&] { group.discard(); }) == text);
  CHECK(what([&] { (void)group.measure(); }) == text);
  CHECK(what([&] { (void)group.snapshot<0>(); }) == text);
  CHECK(what([&] { (void)group.ledger(); }) == text);
  CHECK(what([&] { group.change_rule(accrue::sgd{}); }) == text);
  CHECK(what([&] { group.change_boundary(accrue::every{3}); }) == text);
  struct counts_closings {
    void group_closing(accrue::group_counts const&) {}
  };
  CHECK(what([&] { group.observe(counts_closings{}); }) == text);
  CHECK(moved.held() == accrue::microbatches{1});
}

TEST_CASE("what cannot work is refused at construction") {
  view const a("a", 4);
  auto const construct = [](auto const& parameters, auto const&... policies) {
    return what([&] { (void)accrue::accumulator(parameters, accrue::per_token{}, policies...); });
  };
  CHECK(construct(accrue::parameters(), accrue::sgd{}).find("accrue::accumulator: there are no parameters; ") == 0);
  CHECK(construct(accrue::parameters(std::vector<view>{}), accrue::sgd{})
            .find("accrue::accumulator: there are no parameters; ") == 0);
  CHECK(construct(accrue::parameters(a, Kokkos::View<double>{}), accrue::sgd{})
            .find("accrue::parameters: parameter 1 was never allocated; ") == 0);
  CHECK(construct(accrue::parameters(a, a), accrue::sgd{})
            .find("accrue::parameters: parameter 0 ('a') and parameter 1 ('a') share storage; ") == 0);
  CHECK(construct(accrue::parameters(a, Kokkos::subview(a, std::pair(2, 3))), accrue::sgd{})
            .find("accrue::parameters: ") == 0);
  CHECK(construct(accrue::parameters(Kokkos::subview(a, std::pair(0, 2)), Kokkos::subview(a, std::pair(2, 4))),
                  accrue::sgd{}) == "nothing thrown");
  Kokkos::LayoutStride const nowhere(4, 0);
  Kokkos::View<double*, Kokkos::LayoutStride> const repeated(a.data(), nowhere);
  CHECK(construct(accrue::parameters(repeated), accrue::sgd{})
            .find("accrue::parameters: parameter 0 has several indices for one element; ") == 0);
  CHECK(construct(accrue::parameters(a), accrue::sgd{.learning_rate = -1.0})
            .find("accrue::sgd: learning_rate is -1; it must be at least 0 and finite; ") == 0);
  CHECK(construct(accrue::parameters(a), accrue::clip_by_value{.max_value = 0.0})
            .find("accrue::clip_by_value: max_value is not above 0; ") == 0);
  CHECK(construct(accrue::parameters(a), accrue::per_group{accrue::sgd{.weight_decay = -1.0}})
            .find("accrue::sgd: weight_decay is -1; ") == 0);
  CHECK(construct(accrue::parameters(a), accrue::on_microbatch(accrue::clip_by_global_norm{.order = 0.5}))
            .find("accrue::clip_by_global_norm: order is below 1; ") == 0);
}

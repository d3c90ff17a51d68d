// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An accumulator that is saved after any microbatch and loaded into another one goes on as if nothing had happened.
#include "support/host.hpp"

#include <accrue/accrue.hpp>
#include <accrue/restart.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace accrue;
using support::fill;
using support::values;

namespace {

constexpr int microbatches_of_run = 11;

/// Numbers that depend on the microbatch and the element, and use all bits.
template <class View>
void fill_with_noise(View const& view, int microbatch) {
  support::value_list<View> list;
  for (std::size_t i = 0; i < view.size(); ++i) {
    auto const x = std::sin(1.0 + 0.7 * static_cast<double>(i) * (microbatch + 1)) * std::pow(10.0, microbatch % 3 - 1);
    using value = typename support::value_list<View>::value_type;
    if constexpr (is_complex_v<value>) {
      using real = real_t<value>;
      list.emplace_back(static_cast<real>(x), static_cast<real>(1.0 - x));
    } else {
      list.push_back(static_cast<value>(x));
    }
  }
  fill(view, list);
}

/// A vector, every second column of a matrix, and a tensor that seldom has a gradient.
template <class T>
struct tensors {
  Kokkos::View<T*> a{"a", 70};
  Kokkos::View<T**> whole{"whole", 5, 12};
  Kokkos::View<T**, Kokkos::LayoutStride> b = Kokkos::subview(whole, Kokkos::ALL, Kokkos::pair<int, int>(3, 9));
  Kokkos::View<double*> seldom{"seldom", 3};

  void fill_all(int with) const { fill_with_noise(a, with), fill_with_noise(b, with), fill_with_noise(seldom, with); }
  [[nodiscard]] auto set() const { return parameters(a, b, seldom); }
};

std::string bytes_of(auto& group) {
  std::ostringstream out;
  save(group, out);
  return out.str();
}

/// Feeds microbatches to an accumulator. They lie in `lent` memory that stays, as `gather` wants it.
template <class T>
struct feeder {
  std::vector<tensors<T>> lent = std::vector<tensors<T>>(4);

  void operator()(auto& group, int m) const {
    tensors<T> const& g = lent[static_cast<std::size_t>(m) % lent.size()];
    g.fill_all(m);
    std::optional<Kokkos::View<double*>> third;
    if (m % 4 == 1) third = g.seldom;
    auto const count = 3 + 2 * (m % 3) - (m == 6 ? 7 - 4 : 0);
    group.accumulate(mean_gradient{g.a, g.b, third}, samples{count}, tokens{100 * count}, weight{0.25 + 0.1 * count},
                     mean_loss{0.5 * m});
    if (group.full()) group.update();
  }
};

/// The state at the end of a run that is interrupted before microbatch `at`.
template <class T, class Make>
std::string interrupted_before(int at, Make const& make) {
  feeder<T> const feed;
  std::stringstream file;
  {
    tensors<T> const theta;
    theta.fill_all(100);
    auto group = make(theta.set());
    for (int m = 0; m < at; ++m) feed(group, m);
    save(group, file);
  }
  tensors<T> const theta;
  auto group = make(theta.set());
  load(group, file);
  for (int m = at; m < microbatches_of_run; ++m) feed(group, m);
  group.end_of_data();
  return bytes_of(group);
}
template <class T, class Make>
void any_interruption_is_as_none(Make const& make) {
  feeder<T> const feed;
  tensors<T> const theta;
  theta.fill_all(100);
  auto group = make(theta.set());
  for (int m = 0; m < microbatches_of_run; ++m) feed(group, m);
  group.end_of_data();
  CHECK(group.ledger().applied().value() >= 3);
  std::string const expected = bytes_of(group);
  for (int at = 0; at <= microbatches_of_run; ++at) CHECK((interrupted_before<T>(at, make) == expected));
}

}  // namespace

TEST_CASE_TEMPLATE("P-091: a group goes on where it was saved", T, float, double) {
  Kokkos::View<T*> const theta("theta", 1), gradient("gradient", 1);
  auto const fresh = [&] {
    return accumulator(parameters(theta), per_microbatch{}, every{4}, keep_last{}, sgd{.learning_rate = 1.0});
  };
  auto const add = [&](auto& group, T value) {
    fill(gradient, {value});
    group.accumulate(mean_gradient{gradient});
  };
  std::stringstream file;
  {
    auto before = fresh();
    add(before, 1), add(before, 2);
    save(before, file);
  }
  auto after = fresh();
  load(after, file);
  CHECK(after.held() == microbatches{2});
  add(after, 3), add(after, 4);
  REQUIRE(after.full());
  CHECK(after.update() == outcome::applied);
  CHECK(values(theta)[0] == T(-2.5));  // forgetting the first half gives -1.75
  CHECK(after.ledger().attempted() == updates{1});
  CHECK(after.ledger().microbatches() == microbatches{4});
}

TEST_CASE("P-026: the ledger says how many microbatches to pass over") {
  Kokkos::View<float*> const theta("theta", 1), gradient("gradient", 1);
  auto const fresh = [&] { return accumulator(parameters(theta), per_microbatch{}, every{4}, keep_last{}, sgd{}); };
  std::stringstream file;
  {
    auto before = fresh();
    for (int m = 0; m < 4 * 27 + 3; ++m) {
      before.accumulate(mean_gradient{gradient});
      if (before.full()) before.update();
    }
    save(before, file);
  }
  auto after = fresh();
  load(after, file);
  CHECK(after.ledger().applied() == updates{27});
  CHECK(after.ledger().microbatches() == microbatches{111});  // not 27, and not 4 * 27
}

TEST_CASE("restart: interrupted after any microbatch, a run ends in the same bits") {
  clip_by_global_norm const clip{.max_norm = 0.5};
  SUBCASE("float, adamw, tokens") {
    any_interruption_is_as_none<float>(
        [&](auto set) { return accumulator(set, per_token{}, every{3}, keep_last{}, clip, adamw{}); });
  }
  SUBCASE("double, momentum, weights, a carried group") {
    any_interruption_is_as_none<double>([](auto set) {
      return accumulator(set, weighted{}, at_least{tokens{900}}, carry_last{}, clip_by_value{.max_value = 0.3},
                         momentum{.learning_rate = 0.1});
    });
  }
  SUBCASE("bfloat16, adam with AMSGrad, samples, two at a time") {
    any_interruption_is_as_none<bfloat16>([](auto set) {
      return accumulator(set, per_sample{}, every{4}, pad_last{}, gather<2>{},
                         adam{.learning_rate = 0.1, .amsgrad = true});
    });
  }
  SUBCASE("complex, sum, microbatches, sums in double") {
    any_interruption_is_as_none<Kokkos::complex<float>>([&](auto set) {
      return accumulator(set, per_microbatch{}, sum_objective{}, every{2}, drop_last{}, widened<double>{},
                         on_microbatch{clip}, adamw{});
    });
  }
}

TEST_CASE("restart: a full group keeps the norm that its last microbatch measured") {
  feeder<float> const feed;
  tensors<float> const theta;
  auto group = accumulator(theta.set(), per_token{}, every{3}, keep_last{}, sgd{});
  auto const add = [&](auto& to, int m) {
    feed.lent[0].fill_all(m);
    to.accumulate(mean_gradient{feed.lent[0].a, feed.lent[0].b, no_gradient}, tokens{m + 1});
  };
  for (int m = 0; m < 3; ++m) add(group, m);
  std::stringstream file;
  save(group, file);
  group.update();
  double const fused = group.ledger().records().back().norm;

  tensors<float> const other;
  auto again = accumulator(other.set(), per_token{}, every{3}, keep_last{}, sgd{});
  load(again, file);
  CHECK(again.full());
  CHECK(again.measure().norm == fused);  // measured once more, and the bits are the same
  again.update();
  CHECK(again.ledger().records().back().norm == fused);
}

TEST_CASE("restart: adopted memory, a gradient that waits for its weight, and copies of the weights come back") {
  using array = Kokkos::View<float*>;
  Kokkos::View<bfloat16*> rounded("rounded", 70), rounded_again("rounded", 70);
  array const theta("theta", 70), again("theta", 70);
  fill_with_noise(theta, 1);
  auto const fresh = [](array const& weights, Kokkos::View<bfloat16*> const& copy) {
    return accumulator(parameters(master_weights{weights, copy}), per_token{}, keep_last{}, gather<1>{}, adamw{});
  };
  auto const gradient = [](int m) {
    array view("gradient", 70);
    fill_with_noise(view, m);
    return view;
  };
  auto one = fresh(theta, rounded), other = fresh(again, rounded_again);
  one.accumulate(mean_gradient{gradient(0)}, tokens{3});
  one.update();
  SUBCASE("adopted") { one.adopt(mean_gradient{gradient(1)}, tokens{5}); }
  SUBCASE("written where the sum belongs") {
    auto const [in_buffer] = one.next_gradients();
    fill_with_noise(in_buffer, 1);
    one.accumulate(mean_gradient{in_buffer}, tokens{5});
  }
  std::stringstream file;
  save(one, file);
  load(other, file);
  CHECK(values(rounded_again) == values(rounded));
  CHECK(other.measure().norm == one.measure().norm);
  for (auto* each : {&one, &other}) {
    each->accumulate(mean_gradient{gradient(2)}, tokens{4});
    CHECK(each->update() == outcome::applied);
  }
  CHECK(values(again) == values(theta));
  CHECK(values(rounded_again) == values(rounded));
  CHECK((bytes_of(other) == bytes_of(one)));
}

TEST_CASE("restart: a skip, losses on the device, one rule per set and a rule of the user's come back") {
  using array = Kokkos::View<double*>;
  auto const run = [](int at) {
    array const w("w", 4), b("b", 2), g("g", 4), h("h", 2);
    Kokkos::View<double> const loss("loss");
    auto const decay = per_element(
        [] KOKKOS_FUNCTION(double& theta, double gradient, auto const& state) {
          state[0] = 0.5 * state[0] + gradient;
          theta -= 0.1 * state[0];
        },
        1);
    auto const fresh = [&] {
      return accumulator(parameter_groups(parameters(w), parameters(b)), per_microbatch{}, every{2}, keep_last{},
                         per_group{adamw{}, decay});
    };
    auto group = fresh();
    for (int m = 0; m < 10; ++m) {
      if (m == at) {
        std::stringstream file;
        save(group, file);
        Kokkos::deep_copy(w, -1.0), Kokkos::deep_copy(b, -1.0);
        group = fresh();
        load(group, file);
      }
      fill_with_noise(g, m), fill_with_noise(h, m + 20);
      if (m == 3) fill(h, {1.0, support::not_a_number<double>});
      Kokkos::deep_copy(loss, 0.1 * m);
      group.accumulate(mean_gradient{g, h}, mean_loss{loss});
      if (group.full()) group.update();
    }
    CHECK(group.ledger().skipped() == updates{1});
    return bytes_of(group);
  };
  std::string const expected = run(-1);
  for (int at = 0; at < 10; ++at) CHECK((run(at) == expected));
}

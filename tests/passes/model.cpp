// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/accumulate/summation.hpp>
#include <accrue/core/device_array.hpp>
#include <accrue/core/device_scalars.hpp>
#include <accrue/core/half.hpp>
#include <accrue/core/parameters.hpp>
#include <accrue/finalize/clip_policy.hpp>
#include <accrue/passes/buffer_views.hpp>
#include <accrue/passes/model.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using exec = Kokkos::DefaultExecutionSpace;

/// Multiplies by a number.
template <class B>
struct times {
  accrue::real_t<B> factor;
  [[nodiscard]] KOKKOS_FUNCTION times const& resolve() const { return *this; }
  KOKKOS_FUNCTION B operator()(B const& gradient) const { return gradient * factor; }
};

/// theta -= scale * number of the update * gradient, and the state counts the calls.
struct scaled_descent {
  double scale;
  template <class Real>
  struct rule {
    Real factor;
    template <class T, class State>
    KOKKOS_FUNCTION void operator()(T& theta, T const& gradient, State const& state) const {
      state[0] += T(Real(1));
      state[1] = state[0] + state[0];
      theta -= factor * gradient;
    }
  };
  template <class Real>
  KOKKOS_FUNCTION rule<Real> for_update(std::int64_t number) const {
    return {static_cast<Real>(scale * static_cast<double>(number))};
  }
};

/// A decision that was taken elsewhere, and who left.
struct fixed_decision {
  accrue::decision verdict;
  std::int64_t* entered;
  [[nodiscard]] KOKKOS_FUNCTION accrue::decision settle() const { return verdict; }
  template <class Worker>
  KOKKOS_FUNCTION void enter_record(Worker const& worker) const {
    if (worker.rank() == 0) ++*entered;
  }
};

using floats = Kokkos::View<float*>;
using matrix = Kokkos::View<double**, Kokkos::LayoutLeft>;
using halves = Kokkos::View<accrue::bfloat16*>;
using point = Kokkos::View<float>;
using mixed_set = accrue::parameter_set<std::index_sequence<3, 1>, floats, matrix, std::vector<halves>, point>;
using mixed_model = accrue::model<exec, accrue::widened<>, mixed_set>;

}  // namespace

template struct accrue::block<exec, accrue::bfloat16, float>;
template class accrue::gradient_tables<exec, 2>;
template class accrue::model<exec, accrue::widened<>, mixed_set>;
template struct accrue::add_chunk<accrue::bfloat16, float, times<float>, 2>;
template struct accrue::rule_list<scaled_descent, scaled_descent, scaled_descent>;
template struct accrue::apply_chunk<float, float, accrue::rule_list<scaled_descent>, accrue::no_clip, fixed_decision>;
template struct accrue::copy_quotient<Kokkos::complex<float>>;

namespace {

template <class View>
View filled(View const& view, double value) {
  Kokkos::deep_copy(view, accrue::narrow<typename View::non_const_value_type>(value));
  return view;
}
halves half(double value, std::size_t n) { return filled(halves("gradient", n), value); }

template <class View>
auto on_host(View const& view) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
}
template <class View>
double first(View const& view) {
  return static_cast<double>(on_host(view).data()[0]);
}

template <class T>
void put(T* to, std::vector<T> numbers) {
  using memory = Kokkos::View<T*, exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using host = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(memory(to, numbers.size()), host(numbers.data(), numbers.size()));
}

/// Five views in three blocks: the order of the user is not that of the blocks.
struct mixed {
  exec instance;
  floats a{"a", 3};
  matrix b{"b", 2, 3};
  halves c{"c", 2}, d{"d", 0};
  point e{"e"};
  mixed_model model{instance,
                    accrue::parameter_groups(accrue::parameters(a, b, std::vector{c, d}), accrue::parameters(e)), 2};

  accrue::device_scalars<exec> scalars{instance};

  template <template <class...> class Contribution, class... Gradients>
  void add(double factor, Gradients... gradients) {
    add_measured<Contribution>({}, factor, gradients...);
  }
  template <template <class...> class Contribution, class... Gradients>
  void add_measured(accrue::norm_request const& wanted, double factor, Gradients... gradients) {
    Contribution<Gradients...> const contribution(gradients...);
    model.check(contribution.items, 0, false);
    auto const weigh = [&]<class B>(std::type_identity<B>, int) {
      return times<B>{static_cast<accrue::real_t<B>>(factor)};
    };
    CHECK(model.hold(0, factor) == (sizeof...(Gradients) > 0));
    model.template add<Contribution<Gradients...>>("add", instance, 1, weigh, wanted);
  }
  [[nodiscard]] accrue::norm_request request(double p) const {
    return {{p}, &scalars.data()->total, &scalars.data()->workers_gone};
  }
  [[nodiscard]] double norm(double p) const { return accrue::norm_of({p}, scalars.read(instance, "read").total, 1.0); }
};

}  // namespace

TEST_CASE("model: adds gradients of other scalars and layouts, index by index, and overwrites at the first touch") {
  using accrue::no_gradient;
  mixed m;
  Kokkos::View<float**, Kokkos::LayoutRight> const rows("gradient", 2, 3);
  auto const host = Kokkos::create_mirror_view(rows);
  for (int i = 0; i < 6; ++i) host(i / 3, i % 3) = static_cast<float>(i);
  Kokkos::deep_copy(rows, host);
  std::vector<std::optional<halves>> const only_c{half(7.0, 2), {}};

  m.add<accrue::mean_gradient>(3.0, half(2.0, 3), rows, no_gradient, no_gradient);
  CHECK(m.model.touched_views(m.instance) == std::vector<bool>{true, true, false, false, false});
  m.add<accrue::mean_gradient>(10.0, half(5.0, 3), no_gradient, only_c, no_gradient);
  CHECK(m.model.touched_views(m.instance) == std::vector<bool>{true, true, true, false, false});
  CHECK(m.model.any_touched());
  m.add<accrue::sum_gradient>(1.0);  // names nothing
  m.instance.fence();

  CHECK(first(accrue::sums_of<0>(m.model)) == 3.0 * 2.0 + 10.0 * 5.0);
  auto const sums = on_host(accrue::sums_of<1>(m.model));
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j) CHECK(sums(i, j) == 3.0 * static_cast<double>(3 * i + j));
  CHECK(first(accrue::sums_of<2>(m.model)[0]) == 70.0);
  CHECK(accrue::sums_of<2>(m.model)[1].extent(0) == 0);
  static_assert(decltype(accrue::sums_of<3>(m.model))::rank() == 0);

  CHECK(on_host(accrue::snapshot_of<1>(m.model, m.instance, 4.0))(1, 2) == 3.0 * 5.0 / 4.0);
  CHECK(first(accrue::snapshot_of<3>(m.model, m.instance, 4.0)) == 0.0);  // untouched

  m.model.forget_touched();
  CHECK(!m.model.any_touched());
  m.add<accrue::mean_gradient>(1.0, half(4.0, 3), no_gradient, no_gradient, filled(point("gradient"), 6.0));
  CHECK(first(accrue::sums_of<0>(m.model)) == 4.0);
  CHECK(first(accrue::sums_of<3>(m.model)) == 6.0);
  CHECK(m.model.touched_views(m.instance) == std::vector<bool>{true, false, false, false, true});
}

TEST_CASE("model: measures what was touched, and a contribution before it is added") {
  mixed m;
  m.model.measure_sums("measure", m.instance, m.request(1.0));
  CHECK(m.norm(1.0) == 0.0);
  m.add<accrue::mean_gradient>(1.0, half(-2.0, 3), accrue::no_gradient, std::vector{half(0.5, 2), halves()},
                               filled(point("gradient"), 100.0));
  m.model.measure_sums("measure", m.instance, m.request(1.0));
  CHECK(m.norm(1.0) == 3 * 2.0 + 2 * 0.5 + 100.0);

  using other = accrue::mean_gradient<halves, accrue::no_gradient_t, std::vector<halves>, accrue::no_gradient_t>;
  other const contribution(half(8.0, 3), accrue::no_gradient, {half(1.0, 2), halves()}, accrue::no_gradient);
  m.model.check(contribution.items, 0, false);
  m.model.hold(0, 1.0);
  m.model.measure_held<other>("measure", m.instance, m.request(1.0));
  CHECK(m.norm(1.0) == 3 * 8.0 + 2 * 1.0);  // nothing is left of the sums
}

TEST_CASE("model: the pass of the last microbatch measures all sums, also of what it does not touch") {
  using accrue::no_gradient;
  for (double p : {1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
    mixed m;
    std::vector<std::optional<halves>> const only_c{half(2.0, 2), {}};
    m.add<accrue::mean_gradient>(1.0, half(3.0, 3), no_gradient, only_c, no_gradient);
    m.add_measured<accrue::mean_gradient>(m.request(p), 2.0, half(4.0, 3), no_gradient, no_gradient,
                                          filled(point("gradient"), -7.0));
    double const fused = m.norm(p);
    m.model.measure_sums("measure", m.instance, m.request(p));
    CHECK(fused == m.norm(p));
    if (p == 1.0) CHECK(fused == 3 * 11.0 + 2 * 2.0 + 14.0);
    if (p == 2.0) CHECK(fused == std::sqrt(3 * 121.0 + 2 * 4.0 + 196.0));
    m.add_measured<accrue::sum_gradient>(m.request(p), 1.0);  // names nothing
    CHECK(m.norm(p) == fused);
  }
}

TEST_CASE(
    "model: sums of doubles whose squares leave the range are measured all the same, and what is not finite is found") {
  using views = accrue::parameter_set<std::index_sequence<1>, Kokkos::View<double*>>;
  exec const instance;
  Kokkos::View<double*> const theta("theta", 100), gradient("gradient", 100);
  accrue::device_scalars<exec> const scalars(instance);
  for (double value : {1e200, 1e-200, 3.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    accrue::model<exec, accrue::widened<>, views> model(instance, accrue::parameters(theta), 0);
    Kokkos::deep_copy(gradient, value);
    accrue::mean_gradient<Kokkos::View<double*>> const contribution(gradient);
    model.check(contribution.items, 0, false);
    model.hold(0, 1.0);
    model.add<accrue::mean_gradient<Kokkos::View<double*>>>(
        "add", instance, 1, [](auto, int) { return times<double>{1.0}; },
        accrue::norm_request{{2.0}, &scalars.data()->total, &scalars.data()->workers_gone});
    auto const total = scalars.read(instance, "read").total;
    CHECK((total.non_finite != 0) == !std::isfinite(value));
    if (std::isfinite(value)) CHECK(accrue::norm_of({2.0}, total, 1.0) / value == doctest::Approx(10.0).epsilon(1e-14));
  }
}

TEST_CASE("model: applies each group's rule to what was touched, finished once, or nothing at all") {
  mixed m;
  std::vector<halves> const of_c{half(4.0, 2), halves()};
  m.add<accrue::mean_gradient>(1.0, half(4.0, 3), accrue::no_gradient, of_c, filled(point("gradient"), 8.0));
  accrue::device_array<std::int64_t, exec> const entered(exec{}, "entered", 1);
  // By blocks: a and e, then b, then c and d.
  put(m.model.updates_of_view(), std::vector<std::int64_t>{2, 0, 8, 1, 8});
  using rules = accrue::rule_list<scaled_descent, scaled_descent>;
  auto const apply = [&](bool yes) {
    m.model.apply("apply", m.instance, rules{{1.0}, {{100.0}}}, accrue::no_clip{},
                  fixed_decision{{2.0, 1.0, 0.5, yes ? 1 : 0, accrue::outcome::applied}, entered.data()},
                  &m.scalars.data()->workers_gone);
  };
  auto const parameters = [&] { return std::vector<double>{first(m.a), first(m.b), first(m.c), first(m.e)}; };
  apply(false);
  CHECK(parameters() == std::vector<double>{0.0, 0.0, 0.0, 0.0});
  apply(true);  // gradients are divided by 4
  CHECK(parameters() == std::vector<double>{-3.0 * 1.0, 0.0, -2.0 * 1.0, -100.0 * 2.0});
  apply(true);
  CHECK(first(m.a) == -6.0);
  std::int64_t records = 0;
  entered.read(m.instance, "read", 0, 1, &records);
  CHECK(records == 3);  // one for each pass, not for each block

  auto const& block = m.model.storage().block_of<float>();
  std::vector<float> state(2);
  for (std::size_t word = 0; word < 2; ++word)  // of the second element of a
    block.arena.read(m.instance, "read", (word + 1) * static_cast<std::size_t>(block.words_apart) + 1, 1, &state[word]);
  CHECK(state == std::vector<float>{2.0f, 4.0f});
  CHECK_NOTHROW(m.model.require_state(2));
  CHECK_THROWS_AS(m.model.require_state(3), accrue::error);
}

TEST_CASE("copy_quotient: divides in double and rounds once, as the update does") {
  float const sum = 16777216.0f;
  float copy = 0.0f;
  std::uint8_t const touched = 1, untouched = 0;
  accrue::copy_quotient<float>{&sum, &copy, {16777217.0, 1.0}, &touched}(0);
  CHECK(copy == static_cast<float>(16777216.0 / 16777217.0));
  accrue::copy_quotient<float>{&sum, &copy, {16777217.0, 1.0}, &untouched}(0);
  CHECK(copy == 0.0f);
}

TEST_CASE("quotient_by: divides and clips in double, and rounds once") {
  CHECK(accrue::quotient_by(3.0, 1.0)(1.0f) == static_cast<float>(1.0 / 3.0));
  // 16777217 is no float: a divisor rounded to float would give 1.
  CHECK(accrue::quotient_by(16777217.0, 1.0)(16777216.0f) == static_cast<float>(16777216.0 / 16777217.0));
  CHECK(accrue::quotient_by(4.0, 0.5)(6.0) == 0.75);
  CHECK(accrue::quotient_by(49.0, 1.0)(49.0) == 1.0);  // not so by way of 1 / 49
  using complex = Kokkos::complex<float>;
  CHECK(accrue::quotient_by(4.0, 0.5)(complex(8.0f, -16.0f)) == complex(1.0f, -2.0f));
}

#if ACCRUE_HAS_LANES
TEST_CASE_TEMPLATE("quotient_by: lanes are divided to the bits of one at a time", B, float, double) {
  std::vector<B> const sums{1, -2, B(0.1), 49, 1e30f, 1e-30f, B(1) / 3, 7};
  for (double divisor : {1.0, 3.0, 49.0, 2048.0, 1e10})
    for (double factor : {1.0, 0.3}) {
      accrue::quotient_by const by(divisor, factor);
      auto const quotients = by(accrue::load_lanes(sums.data()));
      for (std::size_t i = 0; i < 8; ++i) CHECK(quotients[i] == by(sums[i]));
    }
}

TEST_CASE_TEMPLATE("square_sum: by lanes and one by one, in double", B, float, double) {
  accrue::square_sum squares;
  std::vector<B> const x{1, 2, 3, 4, 5, 6, 7, 8};
  squares.add(0, accrue::load_lanes(x.data()));
  squares.add(B(10));
  CHECK(squares.total() == 204.0 + 100.0);
  squares.add(B(1e30f));
  CHECK(squares.total() == static_cast<double>(B(1e30f)) * static_cast<double>(B(1e30f)));
}

TEST_CASE_TEMPLATE("square_sum: four times eight at once are summed as eight by eight, to the bit", B, float, double) {
  std::vector<B> x(32 * 9);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = B(std::sin(1.0 + static_cast<double>(i)) * static_cast<double>(1 + i % 7));
  for (std::size_t rest : {0, 8, 16, 24}) {
    accrue::square_sum by_eight, by_four;
    std::size_t const size = x.size() - rest;
    long double exact = 0.0L;
    for (std::size_t i = 0; i < size; ++i) exact += static_cast<long double>(x[i]) * x[i];
    for (std::size_t i = 0; i < size; i += 8) by_eight.add(static_cast<std::int64_t>(i), accrue::load_lanes(&x[i]));
    std::size_t i = 0;
    for (; i + 32 <= size; i += 32)
      by_four.add_four(accrue::load_lanes(&x[i]), accrue::load_lanes(&x[i + 8]), accrue::load_lanes(&x[i + 16]),
                       accrue::load_lanes(&x[i + 24]));
    for (; i < size; i += 8) by_four.add(static_cast<std::int64_t>(i), accrue::load_lanes(&x[i]));
    CHECK(by_four.total() == by_eight.total());
    CHECK(by_four.total() == doctest::Approx(static_cast<double>(exact)).epsilon(1e-14));
  }
}
#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several replicas in one process, each with a model of its own, whose sums are merged.
#include <accrue/accumulate/compensated.hpp>
#include <accrue/accumulate/order_independent.hpp>
#include <accrue/accumulate/weigh.hpp>
#include <accrue/core/device_scalars.hpp>
#include <accrue/core/parameters.hpp>
#include <accrue/passes/buffer_views.hpp>
#include <accrue/passes/model.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using exec = Kokkos::DefaultExecutionSpace;
using floats = Kokkos::View<float*>;
using complexes = Kokkos::View<Kokkos::complex<double>*>;
using set = accrue::parameter_set<std::index_sequence<2>, floats, complexes>;
constexpr std::size_t length = 19;

struct gradients {
  floats a{"a", length};
  complexes b{"b", length};
  bool both = true;
  double weight = 1.0;
};

/// The sums of one replica.
template <class Summation>
class replica {
 public:
  explicit replica(set const& parameters) : model_(instance_, parameters, 0) {}

  void add(gradients const& g) {
    if (g.both)
      add(accrue::sum_gradient{g.a, g.b}, g.weight);
    else
      add(accrue::sum_gradient{g.a, accrue::no_gradient}, g.weight);
  }
  void merge(replica& other) { model_.merge("merge", instance_, other.model_); }

  [[nodiscard]] std::vector<std::uint64_t> bits() {
    accrue::norm_request const wanted{{2.0}, &scalars_.data()->total, &scalars_.data()->workers_gone};
    model_.measure_sums("measure", instance_, wanted);
    std::vector<std::uint64_t> all{std::bit_cast<std::uint64_t>(scalars_.read(instance_, "read").total.sum)};
    auto const a = accrue::snapshot_of<0>(model_, instance_, 1.0);
    auto const b = accrue::snapshot_of<1>(model_, instance_, 1.0);
    for (std::size_t i = 0; i < length; ++i)
      for (double x : {static_cast<double>(a(i)), b(i).real(), b(i).imag()})
        all.push_back(std::bit_cast<std::uint64_t>(x));
    return all;
  }

 private:
  template <class Contribution>
  void add(Contribution const& contribution, double weight) {
    model_.check(contribution.items, 0, false);
    static_cast<void>(model_.hold(0, weight));
    model_.template add<Contribution>("add", instance_, 1, [&]<class B>(std::type_identity<B>, int) {
      return accrue::weigh_plainly<B>{static_cast<accrue::real_t<B>>(weight)};
    });
  }

  exec instance_;
  accrue::model<exec, Summation, set> model_;
  accrue::device_scalars<exec> scalars_{instance_};
};

}  // namespace

template class accrue::model<exec, accrue::order_independent, set>;
template class accrue::model<exec, accrue::compensated, set>;

TEST_CASE("merge: any placement on 1 to 8 replicas gives one bit pattern under order_independent") {
  set const parameters = accrue::parameters(floats("theta", length), complexes("theta", length));
  std::mt19937_64 engine(8);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> exponent(-30, 30);
  auto const number = [&] { return std::ldexp(normal(engine), exponent(engine)); };
  std::vector<gradients> all(12);
  for (std::size_t n = 0; n < all.size(); ++n) {
    for (std::size_t i = 0; i < length; ++i) {
      all[n].a(i) = static_cast<float>(number());
      all[n].b(i) = Kokkos::complex<double>(number(), number());
    }
    all[n].both = n % 4 != 1;
    all[n].weight = std::abs(number());
  }

  std::vector<std::uint64_t> expected;
  for (int placement = 0; placement < 200; ++placement) {
    std::shuffle(all.begin(), all.end(), engine);
    std::vector<std::unique_ptr<replica<accrue::order_independent>>> replicas;
    for (std::size_t r = 0; r <= static_cast<std::size_t>(placement) % 8; ++r)
      replicas.push_back(std::make_unique<replica<accrue::order_independent>>(parameters));
    for (gradients const& each : all) replicas[engine() % replicas.size()]->add(each);
    while (replicas.size() > 1) {
      std::swap(replicas.back(), replicas[engine() % replicas.size()]);
      replicas[engine() % (replicas.size() - 1)]->merge(*replicas.back());
      replicas.pop_back();
    }
    if (expected.empty()) expected = replicas[0]->bits();
    REQUIRE(replicas[0]->bits() == expected);
  }
}

TEST_CASE("merge: compensated sums keep what they carry, and views that only the other one touched are taken over") {
  set const parameters = accrue::parameters(floats("theta", length), complexes("theta", length));
  replica<accrue::compensated> one(parameters), other(parameters);
  gradients g;
  auto const add = [&](auto& to, double x, bool both) {
    Kokkos::deep_copy(g.a, static_cast<float>(x));
    Kokkos::deep_copy(g.b, Kokkos::complex<double>(x * x * x, -x * x * x));
    g.both = both;
    to.add(g);
  };
  add(one, 1e8, false), add(one, 1.0, false);
  add(other, -1e8, true), add(other, 3.0, true);
  one.merge(other);
  auto const bits = one.bits();
  CHECK(std::bit_cast<double>(bits[1]) == 4.0);
  CHECK(std::bit_cast<double>(bits[2]) == -1e24 + 27);
  CHECK(std::bit_cast<double>(bits[3]) == 1e24 - 27);
  Kokkos::deep_copy(g.b, Kokkos::complex<double>(1e24, -1e24));
  one.add(g);
  CHECK(std::bit_cast<double>(one.bits()[2]) == 27.0);
}
